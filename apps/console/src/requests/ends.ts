import { type ErrorCode, OTHER_ENDS } from '@tidegate/contracts';
import { codeText } from '../errors/advice.ts';
import type { Named } from './choices.ts';

/** The refusals that counted requests can get. */
const REFUSALS = [
  'upstream_error',
  'model_refused',
  'model_unavailable',
  'internal_error',
] as const satisfies readonly ErrorCode[];

/**
 * How counted requests can end without a complete answer. No one sees those of a deleted
 * organization.
 */
export const ENDS: readonly Named[] = [...REFUSALS, ...OTHER_ENDS]
  .filter((code) => code !== 'org_deleted')
  .map((code) => ({ id: code, name: codeText(code) }));
