import { expect, it } from '@jest/globals';
import { formatOutboxEntry, parseOutboxEntry } from './entry.ts';

const settlement = {
  reservationId: 'r1',
  keyId: 'key_1',
  modelId: 'mdl_1',
  reservedAtMs: 1_700_000_000_000,
  answered: true,
  errorCode: null,
  streamed: true,
  reservedTokens: 100,
  promptTokens: 7,
  completionTokens: 3,
  chargedTokens: 10,
  durationMs: 90,
  firstChunkMs: 12,
};

it('an entry is read as it was written', () => {
  const entry = formatOutboxEntry(settlement);
  expect(parseOutboxEntry('org_1', '1-0', entry)).toEqual({ ...settlement, orgId: 'org_1', outboxId: '1-0' });
});

it('an entry of a limiter that did not know the first chunk is read without it', () => {
  const old = formatOutboxEntry(settlement).split(' ').slice(0, 12).join(' ');
  expect(parseOutboxEntry('org_1', '1-0', old)).toMatchObject({ durationMs: 90, firstChunkMs: null });
});

it('anything longer or shorter is not an entry', () => {
  const entry = formatOutboxEntry(settlement);
  for (const wrong of [`${entry} 1`, entry.split(' ').slice(0, 11).join(' '), ''])
    expect(parseOutboxEntry('org_1', '1-0', wrong)).toBeNull();
});
