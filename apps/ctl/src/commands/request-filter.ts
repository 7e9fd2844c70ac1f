import type {
  Control,
  ListRequestsInput,
  RefusalsView,
  RequestPage,
  Result,
  ShowRefusalsInput,
} from '@tidegate/control';
import { CommandError, OPERATOR } from '../context.ts';

/**
 * Lists requests.
 * @param warn called if there are none and this version does not know the error code of the filter
 * @throws CommandError if there are none because the filter cannot match any
 */
export async function listMatching(
  control: Control,
  input: ListRequestsInput,
  warn: (text: string) => void,
): Promise<Result<RequestPage>> {
  const listed = await control.listRequests(OPERATOR, input);
  if (!listed.ok || listed.value.requests.length > 0) return listed;
  const { org, keyId, modelId, outcome } = input;
  const of = org === undefined ? {} : { org };
  const wrong = await Promise.all([
    keyId === undefined ? null : wrongKey(control, of, keyId),
    modelId === undefined ? null : wrongModel(control, of, modelId),
  ]);
  const told = wrong.filter((text) => text !== null);
  if (told.length > 0) throw new CommandError(told.join('\n'));
  if (outcome !== undefined) await warnOfUnknown(outcome, warn);
  return listed;
}

/**
 * Counts refusals.
 * @throws CommandError if there are none because there is no such key
 */
export async function refusalsMatching(
  control: Control,
  input: ShowRefusalsInput,
): Promise<Result<RefusalsView>> {
  const shown = await control.showRefusals(OPERATOR, input);
  const { org, keyId } = input;
  if (!shown.ok || shown.value.total > 0 || keyId === undefined) return shown;
  const wrong = await wrongKey(control, org === undefined ? {} : { org }, keyId);
  if (wrong !== null) throw new CommandError(wrong);
  return shown;
}

type Of = Pick<ListRequestsInput, 'org'>;

async function wrongKey(control: Control, of: Of, keyId: string): Promise<string | null> {
  const { PAGE_KEYS } = await import('@tidegate/contracts');
  if (keyId === PAGE_KEYS) return null;
  const isKnown =
    has(await control.listKeys(OPERATOR, of), keyId) || (await isUsed(control, { ...of, keyId }));
  return isKnown ? null : unknown('key', keyId);
}

async function wrongModel(control: Control, of: Of, modelId: string): Promise<string | null> {
  const models = await control.listModels(OPERATOR, { ...of, activity: false });
  const isKnown = has(models, modelId) || (await isUsed(control, { ...of, modelId }));
  return isKnown ? null : unknown('model', modelId);
}

/** A code that is not known here may be one of a newer gateway. */
async function warnOfUnknown(outcome: string, warn: (text: string) => void): Promise<void> {
  const { ERRORS, OTHER_ENDS } = await import('@tidegate/contracts');
  const codes = [...Object.keys(ERRORS), ...OTHER_ENDS];
  if (['answered', 'errors', ...codes].includes(outcome)) return;
  warn(`No request ended with "${outcome}". This version of ctl knows the error codes ${codes.join(', ')}.`);
}

/** If the list cannot be read, the filter is not at fault. */
const has = (listed: Result<readonly { readonly id: string }[]>, wanted: string): boolean =>
  !listed.ok || listed.value.some(({ id }) => id === wanted);

/** A deleted key or model is in no list, but its requests still name it. */
async function isUsed(control: Control, filter: ListRequestsInput): Promise<boolean> {
  const found = await control.listRequests(OPERATOR, { ...filter, limit: 1 });
  return !found.ok || found.value.requests.length > 0;
}

const unknown = (noun: string, id: string): string =>
  `--${noun} must be the id of a ${noun}. The organization has no ${noun} "${id}", and no request of the last 35 days names it.`;
