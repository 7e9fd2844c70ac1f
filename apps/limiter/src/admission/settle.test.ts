import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newKeyId, newOrgId } from '@tidegate/contracts';
import { type TestRedis, testRedis } from '@tidegate/testing';
import { formatOutboxEntry, parseOutboxEntry } from '../outbox/entry.ts';
import type { ScriptDeps } from '../script-deps.ts';
import { seedMonth } from '../seeding/seed.ts';
import { anAdmitInput } from '../testing/admit-input.ts';
import { openStore, ROOMY_PLAN, type TestStore } from '../testing/fixture.ts';
import { putInstance, putKey, putOrg } from '../testing/org.ts';
import { type AdmitInput, admit } from './admit.ts';
import { settle } from './settle.ts';

const CONTEXT = 1_000;

let redis: TestRedis;
let test: TestStore;
let scriptDeps: ScriptDeps;
let instanceId: string;
let orgId: string;
let keyId: string;
let month: string;

beforeAll(async () => {
  redis = await testRedis();
  test = await openStore(redis.url);
  scriptDeps = test.scriptDepsAt(0);
});

beforeEach(async () => {
  [orgId, month] = [newOrgId(), scriptDeps.clock.month().name];
  await putOrg(scriptDeps, { orgId, version: 1, ...ROOMY_PLAN });
  await seedMonth(scriptDeps, orgId, month, { requests: 0, chargedTokens: 0 });
  [keyId, instanceId] = [await putKey(scriptDeps, orgId), await putInstance(scriptDeps, orgId)];
});

afterAll(async () => {
  test.redis.disconnect();
  await redis.stop();
});

async function reserved(more: Partial<AdmitInput> = {}): Promise<AdmitInput> {
  const call = anAdmitInput({ orgId, keyId }, instanceId, { contextTokens: CONTEXT, ...more });
  expect(await admit(scriptDeps, call, scriptDeps.clock.month())).toMatchObject({ kind: 'admitted' });
  return call;
}

const answer = (promptTokens: number, completionTokens: number) => ({
  answered: true,
  usage: { promptTokens, completionTokens },
  durationMs: 12,
  errorCode: null,
  firstChunkMs: null,
});

const ledger = async () =>
  test.redis.hmget(test.names.month(orgId, month), 'requests', 'charged', 'reserved');

describe('a settlement', () => {
  it.each([
    ['what the model reported', 600, 399, 999],
    ['the whole context, if just that was used', 600, 400, 1_000],
    ['nothing, if nothing was used', 0, 0, 0],
  ])('charges %s', async (_what, promptTokens, completionTokens, chargedTokens) => {
    const call = await reserved();
    const reply = await settle(scriptDeps, call, { keyId, month }, answer(promptTokens, completionTokens));
    expect(reply).toMatchObject({
      kind: 'settled',
      settlement: { promptTokens, completionTokens, chargedTokens, reservedTokens: CONTEXT },
    });
    expect(await ledger()).toEqual(['1', String(chargedTokens), '0']);
  });

  it.each([
    ['whose usage exceeds the reservation', answer(601, 400)],
    ['without usage', { ...answer(0, 0), usage: null }],
    [
      'that broke off, whatever usage it has',
      { ...answer(1, 1), answered: false, errorCode: 'upstream_error' },
    ],
  ])('of an answer %s charges the whole reservation', async (_which, end) => {
    const call = await reserved();
    expect(await settle(scriptDeps, call, { keyId, month }, end)).toMatchObject({
      kind: 'settled',
      settlement: {
        promptTokens: null,
        completionTokens: null,
        chargedTokens: CONTEXT,
        reservedTokens: CONTEXT,
        answered: end.answered,
        errorCode: end.errorCode,
      },
    });
    expect(await ledger()).toEqual(['1', String(CONTEXT), '0']);
  });

  it.each([
    [
      'an answer',
      { streamed: true, end: { ...answer(3, 4), durationMs: 34, firstChunkMs: 5 } },
      { promptTokens: 3, completionTokens: 4, chargedTokens: 7 },
    ],
    [
      'an error',
      { streamed: false, end: { ...answer(3, 4), answered: false, errorCode: 'upstream_error' } },
      { promptTokens: null, completionTokens: null, chargedTokens: CONTEXT },
    ],
  ])(
    'puts %s into the outbox word for word as TypeScript would',
    async (_what, { streamed, end }, tokens) => {
      const call = await reserved({ modelId: 'mdl_this', streamed });
      await settle(scriptDeps, call, { keyId, month }, end);
      const [[outboxId, [, text = '']] = ['', []]] = await test.redis.xrange(
        test.names.outbox(orgId),
        '-',
        '+',
      );
      const { usage: _, ...how } = end;
      const entry = {
        reservationId: call.admissionId,
        keyId,
        modelId: 'mdl_this',
        reservedAtMs: expect.any(Number),
        reservedTokens: CONTEXT,
        streamed,
        ...how,
        ...tokens,
      };
      const read = parseOutboxEntry(orgId, outboxId, text);
      expect(read).toEqual({ ...entry, orgId, outboxId });
      expect(Math.abs((read?.reservedAtMs ?? 0) - Date.now())).toBeLessThan(60_000);
      expect(read && formatOutboxEntry(read)).toBe(text);
    },
  );

  it.each([
    ['key', () => ({ keyId: newKeyId(), month })],
    ['month', () => ({ keyId, month: '2020-01' })],
  ])('under another %s does nothing, and says what the right ones are', async (_what, wrong) => {
    const call = await reserved();
    const asked = settle(scriptDeps, call, wrong(), answer(1, 1));
    expect(await asked).toEqual({ kind: 'wrong_scope', scope: { keyId, month } });
    expect(await ledger()).toEqual(['1', '0', String(CONTEXT)]);
  });
});
