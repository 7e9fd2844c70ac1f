import { describe, expect, it } from '@jest/globals';
import { type Settlement, toQueued } from '@tidegate/contracts';
import { settlement } from '../testing/fixture.ts';
import { parseBatch } from './parse.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 13);
const FIRST_KEPT_MS = Date.UTC(2026, 9, 17);

const parse = (item: unknown, nowMs = NOW_MS) => parseBatch({ settlements: [item] }, nowMs);
const reasonOf = (fields: object) =>
  parse({ ...toQueued(settlement()), ...fields }).invalid[0]?.reason ?? null;

describe('a batch', () => {
  it.each([
    [{ reservationId: 'x'.repeat(64) }],
    [{ reservedAtMs: FIRST_KEPT_MS }],
    [{ chargedTokens: 4_096 }],
    [{ reservedTokens: 2_147_483_647 }],
    [{ durationMs: 0 }],
    [{ durationMs: null, promptTokens: null, completionTokens: null }],
    [{ firstChunkMs: undefined }],
  ])('takes a settlement with %j', (fields) => {
    const item = { ...settlement(), ...fields } as Settlement;
    expect(parse(toQueued(item))).toEqual({
      settlements: [{ ...item, firstChunkMs: item.firstChunkMs ?? null }],
      invalid: [],
    });
  });

  it.each([
    [{ reservationId: '' }, /^reservationId: /],
    [{ orgId: 'x'.repeat(65) }, /^orgId: /],
    [{ errorCode: 'no code' }, /^errorCode: /],
    [{ answered: 'yes' }, /^answered: /],
    [{ admittedAtMs: FIRST_KEPT_MS - 1 }, /^reserved more than 35 days ago$/],
    [{ admittedAtMs: Date.UTC(2200, 0) + 1 }, /^admittedAtMs: /],
    [{ durationMs: -1 }, /^durationMs: /],
    [{ durationMs: 1.5 }, /^durationMs: /],
    [{ reservedTokens: 2_147_483_648 }, /^reservedTokens: /],
    [{ promptTokens: null }, /both be null or both be set$/],
    [{ chargedTokens: 4_097 }, /^chargedTokens exceeds reservedTokens$/],
  ])('puts a settlement with %j aside and says why', (fields, reason) => {
    expect(reasonOf(fields)).toMatch(reason);
  });

  it('takes the valid settlements beside invalid ones', () => {
    const valid = settlement();
    const { settlements, invalid } = parseBatch({ settlements: [{}, toQueued(valid), null] }, NOW_MS);
    expect(settlements).toEqual([valid]);
    expect(invalid.map(({ data }) => data)).toEqual([{}, null]);
  });

  it.each([[null], [7], [{}], [{ settlements: 'none' }], [{ settlements: { length: 1 } }]])(
    'is put aside as a whole if it is %j',
    (data) => {
      expect(parseBatch(data, NOW_MS)).toEqual({
        settlements: [],
        invalid: [{ data, reason: 'not a batch of settlements' }],
      });
    },
  );
});
