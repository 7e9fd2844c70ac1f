import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newKeyId, newOrgId } from '@tidegate/contracts';
import { type TestRedis, testRedis } from '@tidegate/testing';
import type { ScriptDeps } from '../script-deps.ts';
import { seedMonth } from '../seeding/seed.ts';
import { anAdmitInput } from '../testing/admit-input.ts';
import { openStore, ROOMY_PLAN, type TestStore } from '../testing/fixture.ts';
import { putInstance, putKey, putOrg } from '../testing/org.ts';
import { type AdmitInput, admit } from './admit.ts';
import { reserve } from './reserve.ts';
import { type RequestEnd, settle } from './settle.ts';
import { withdraw } from './withdraw.ts';

const END: RequestEnd = {
  answered: false,
  usage: null,
  durationMs: 1,
  errorCode: 'upstream_error',
  firstChunkMs: null,
};

let redis: TestRedis;
let test: TestStore;
let scriptDeps: ScriptDeps;
let orgId: string;

beforeAll(async () => {
  redis = await testRedis();
  test = await openStore(redis.url);
  scriptDeps = test.scriptDepsAt(0);
  // A script that Redis does not know yet would be sent again, behind the others.
  await test.store.loadScripts();
});

beforeEach(async () => {
  orgId = newOrgId();
  await putOrg(scriptDeps, { orgId, version: 1, ...ROOMY_PLAN });
  const { name } = scriptDeps.clock.month();
  await seedMonth(scriptDeps, orgId, name, { requests: 0, chargedTokens: 0 });
});

afterAll(async () => {
  test.redis.disconnect();
  await redis.stop();
});

const anInstance = () => putInstance(scriptDeps, orgId);
const aKey = () => putKey(scriptDeps, orgId);
const begin = (call: AdmitInput) => admit(scriptDeps, call, scriptDeps.clock.month());
const end = (call: AdmitInput) =>
  settle(scriptDeps, call, { keyId: call.keyId, month: scriptDeps.clock.month().name }, END);
const takeBack = (call: AdmitInput) =>
  withdraw(scriptDeps, call, { keyId: call.keyId, month: scriptDeps.clock.month().name });
const kindOf = ({ kind }: { readonly kind: string }): string => kind;

describe('calls that come in one turn', () => {
  it('of several instances are each decided for their own instance', async () => {
    const keyId = await aKey();
    const instances = await Promise.all([anInstance(), anInstance()]);
    const calls = [...instances, ...instances].map((id) => anAdmitInput({ orgId, keyId }, id));
    expect((await Promise.all(calls.map(begin))).map(kindOf)).toEqual(calls.map(() => 'admitted'));
    for (const instanceId of instances) {
      const held = await test.redis.hkeys(test.names.open(orgId, instanceId));
      const own = calls.filter((call) => call.instanceId === instanceId);
      expect(held.sort()).toEqual(own.map(({ admissionId }) => admissionId).sort());
    }
    expect((await Promise.all(calls.map(end))).map(kindOf)).toEqual(calls.map(() => 'settled'));
  });

  it('reserve once for each id, even one that comes twice', async () => {
    const instanceId = await anInstance();
    const keys = [await aKey(), await aKey()];
    const calls = [...keys, ...keys].map((keyId) =>
      anAdmitInput({ orgId, keyId }, instanceId, { reserve: false }),
    );
    await Promise.all(calls.map(begin));
    const month = scriptDeps.clock.month();
    const ask = (call: AdmitInput) => reserve(scriptDeps, call, call.keyId, month);
    const gone = anAdmitInput({ orgId, keyId: keys[0] ?? '' }, instanceId);
    const replies = await Promise.all([...calls, ...calls.slice(0, 2), gone].map(ask));
    expect(replies.map(kindOf)).toEqual([...Array(6).fill('admitted'), 'lease_lost']);
    const counted = await test.redis.hmget(test.names.month(orgId, month.name), 'requests', 'reserved');
    expect(counted).toEqual(['4', String(4 * (calls[0]?.contextTokens ?? 0))]);
  });

  it('reserve nothing for an admission that was withdrawn, or for an instance that is fenced', async () => {
    const instanceId = await anInstance();
    const keyId = await aKey();
    const held = anAdmitInput({ orgId, keyId }, instanceId, { reserve: false });
    const withdrawn = anAdmitInput({ orgId, keyId }, instanceId, { reserve: false });
    await begin(held);
    await takeBack(withdrawn);
    const ask = (call: AdmitInput) => reserve(scriptDeps, call, keyId, scriptDeps.clock.month());
    expect((await Promise.all([ask(withdrawn), ask(held)])).map(kindOf)).toEqual(['lease_lost', 'admitted']);
    const other = anAdmitInput({ orgId, keyId }, instanceId, { reserve: false });
    await begin(other);
    await test.redis.zadd(test.names.fenced(orgId), 1, instanceId);
    expect((await Promise.all([ask(other), ask(held)])).map(kindOf)).toEqual(['lease_lost', 'lease_lost']);
  });

  it('reserve nothing for a key that Redis has lost, until it is seeded again', async () => {
    const instanceId = await anInstance();
    const keyId = await aKey();
    const held = anAdmitInput({ orgId, keyId }, instanceId, { reserve: false });
    await begin(held);
    await test.redis.del(test.names.key(orgId, keyId));
    expect(kindOf(await reserve(scriptDeps, held, keyId, scriptDeps.clock.month()))).toBe('need_key');
  });

  it('admit one id once', async () => {
    const call = anAdmitInput({ orgId, keyId: await aKey() }, await anInstance());
    const replies = await Promise.all([begin(call), begin(call)]);
    expect(replies.map(kindOf)).toEqual(['admitted', 'lease_lost']);
    expect(await test.redis.hget(test.names.org(orgId), 'in_flight')).toBe('1');
  });

  it('each get their own reply, and one whose key must be seeded first does not hold up the others', async () => {
    const instanceId = await anInstance();
    const known = await aKey();
    const calls = [known, newKeyId(), known].map((keyId) => anAdmitInput({ orgId, keyId }, instanceId));
    const replies = await Promise.all(calls.map(begin));
    expect(replies.map(kindOf)).toEqual(['admitted', 'need_key', 'admitted']);
  });

  it('keep their order around a call of another kind', async () => {
    const instanceId = await anInstance();
    const keyId = await aKey();
    const [first, second] = [
      anAdmitInput({ orgId, keyId }, instanceId),
      anAdmitInput({ orgId, keyId }, instanceId),
    ];
    const replies = await Promise.all([
      begin(first),
      takeBack(second),
      begin(second),
      end(first),
      takeBack(first),
      end(first),
    ]);
    expect(replies.map(kindOf)).toEqual([
      'admitted',
      'unknown',
      'lease_lost',
      'settled',
      'unknown',
      'unknown',
    ]);
  });
});
