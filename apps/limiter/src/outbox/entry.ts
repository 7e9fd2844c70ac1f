import type { Settlement } from '@tidegate/contracts';

/** Entries of limiters before the time of the first chunk have one field less. */
const FIELDS = [12, 13];
const NONE = '-';

/** Parses an outbox entry as written by settle.lua. Null if it is malformed. */
export function parseOutboxEntry(orgId: string, outboxId: string, entry: string): Settlement | null {
  const fields = entry.split(' ');
  if (!FIELDS.includes(fields.length)) return null;
  const [
    id,
    keyId,
    modelId,
    atMs,
    answered,
    error,
    streamed,
    reserved,
    prompt,
    completion,
    charged,
    duration,
    firstChunk,
  ] = fields as [string, ...string[]];
  return {
    reservationId: id,
    outboxId,
    orgId,
    keyId: text(keyId),
    modelId: text(modelId),
    admittedAtMs: Number(atMs),
    answered: answered === '1',
    errorCode: error === NONE ? null : text(error),
    streamed: streamed === '1',
    reservedTokens: Number(reserved),
    promptTokens: count(prompt),
    completionTokens: count(completion),
    chargedTokens: Number(charged),
    durationMs: count(duration),
    firstChunkMs: count(firstChunk),
  };
}

const text = (field: string | undefined): string => field ?? '';
const count = (field: string | undefined): number | null =>
  field === undefined || field === NONE ? null : Number(field);

/** Formats an outbox entry as settle.lua does. */
export const formatOutboxEntry = (settlement: Omit<Settlement, 'orgId' | 'outboxId'>): string =>
  [
    settlement.reservationId,
    settlement.keyId,
    settlement.modelId,
    settlement.admittedAtMs,
    settlement.answered ? 1 : 0,
    settlement.errorCode ?? NONE,
    settlement.streamed ? 1 : 0,
    settlement.reservedTokens,
    settlement.promptTokens ?? NONE,
    settlement.completionTokens ?? NONE,
    settlement.chargedTokens,
    settlement.durationMs ?? NONE,
    settlement.firstChunkMs ?? NONE,
  ].join(' ');
