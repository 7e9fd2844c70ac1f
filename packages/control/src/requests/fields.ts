import { DAY_MS } from '@tidegate/limits';
import { z } from 'zod';
import { isDay } from '../fields.ts';

const TIME_RULE = 'must be a UTC time as YYYY-MM-DDTHH:MM, or a day as YYYY-MM-DD.';
const TIME = /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,3})?)?Z?$/;
const ID_RULE = 'Request id must be 24 letters and digits, with or without req_ or chatcmpl- before them.';
const ID = /^(?:req_|chatcmpl-)?([0-9A-Za-z]{24})$/;

/** An instant in UTC, in Unix ms. A day stands for its beginning, or with `ends` for its end. */
export const timeField = (label: string, { ends = false } = {}) =>
  z
    .string({ error: `${label} ${TIME_RULE}` })
    .trim()
    .refine((value) => isDay(TIME.exec(value)?.[1] ?? value), { error: `${label} ${TIME_RULE}` })
    .transform((value) => {
      if (!TIME.test(value)) return Date.parse(value) + (ends ? DAY_MS : 0);
      return Date.parse(value.endsWith('Z') ? value : `${value}Z`);
    })
    .optional();

/**
 * The id that an answer had in `x-request-id` or in its body, turned into the id of its admission.
 */
export const requestIdField = z
  .string({ error: ID_RULE })
  .trim()
  .regex(ID, { error: ID_RULE })
  .transform((value) => ID.exec(value)?.[1] ?? value);
