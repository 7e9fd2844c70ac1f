import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { orgTagOf } from '@tidegate/contracts';
import { closeDb, type Db } from '@tidegate/db';
import { createRedisClient } from '@tidegate/redis';
import { callUnary } from '@tidegate/rpc';
import { eventually, type TestPostgres, type TestRedis, testPostgres, testRedis } from '@tidegate/testing';
import { anAdmitInput } from '../testing/admit-input.ts';
import { changePlan, connectDb, makeKey, makeModel, makeOrg, type TestKey } from '../testing/fixture.ts';
import { beatingInstance, monthOfOrg, PATIENT_CALL, Rig } from '../testing/rig.ts';
import type { SessionClient } from '../testing/session-client.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let postgres: TestPostgres;
let redis: TestRedis;
let db: Db;
let rig: Rig;
/** Sessions with two limiters on one Redis. */
let one: SessionClient;
let two: SessionClient;

beforeAll(async () => {
  [postgres, redis] = await Promise.all([testPostgres(), testRedis()]);
  db = connectDb(postgres.url);
  rig = new Rig(redis.url, db);
  one = rig.session(await rig.limiter());
  two = rig.session(await rig.limiter());
});

afterAll(async () => {
  await rig.close();
  await closeDb(db);
  await Promise.all([redis.stop(), postgres.drop()]);
});

describe('a session', () => {
  it('authenticates, admits, reserves and settles, and the month counts it', async () => {
    const orgId = await makeOrg(db);
    const key = await makeKey(db, orgId, { requestsPerMinute: 5 });
    const instanceId = await beatingInstance(one);
    const known = await one.ask({ authenticate: { orgTag: key.orgTag, keyHash: key.hash } });
    expect(known.authenticate?.principal).toEqual({
      orgId,
      keyId: key.keyId,
      allModels: true,
      modelIds: [],
      expiresAtMs: 0,
      imagesAllowed: true,
    });

    const admission = anAdmitInput(key, instanceId, { reserve: false });
    const admitted = await one.decide({ admit: admission });
    expect(admitted.admitted?.window).toMatchObject({ limit: 5, remaining: 4 });
    expect((await one.decide({ reserve: admission })).admitted).toBeTruthy();
    expect(await monthOfOrg(one, orgId)).toMatchObject({
      requests: 1,
      chargedTokens: 0,
      reservedTokens: 1_000,
      inFlight: 1,
    });

    const settle = { ...admission, answered: true, usageValid: true, promptTokens: 7, completionTokens: 3 };
    // Settle once through each limiter. The second call has no effect.
    expect((await one.ask({ settle })).settle).toEqual({});
    expect((await two.ask({ settle })).settle).toEqual({});
    expect(await monthOfOrg(two, orgId)).toMatchObject({
      requests: 1,
      chargedTokens: 10,
      reservedTokens: 0,
      inFlight: 0,
    });
  });

  it('is asked to move by a limiter that drains, whenever it began, and goes on meanwhile', async () => {
    const draining = await rig.limiter({ timing: { gatewaysMoveMs: HOUR_MS } });
    const [early, stuck] = [rig.session(draining), rig.session(draining)];
    const heartbeat = { instanceId: await beatingInstance(early), registered: true };
    await stuck.ask({ heartbeat });
    draining.drain();
    const late = rig.session(draining);
    const asked = (session: SessionClient) => session.notices.some(({ draining }) => draining);
    await eventually(() => [early, stuck, late].every(asked));
    expect((await early.ask({ heartbeat })).heartbeat).toMatchObject({ leaseLost: false });
    const closed = draining.close();
    // Some of these come after the limiter has ended its chores, when its sessions are next.
    for (let i = 0; i < 50; i++)
      expect((await late.ask({ heartbeat })).heartbeat).toMatchObject({ leaseLost: false });
    for (const session of [early, stuck, late]) session.close();
    await closed;
  });

  it('that does not move ends after a while', async () => {
    const draining = await rig.limiter({ timing: { gatewaysMoveMs: 1 } });
    const stuck = rig.session(draining);
    await beatingInstance(stuck);
    draining.drain();
    const closed = draining.close();
    await stuck.ended;
    await closed;
  });

  it('ends an admission through another limiter than the one that admitted it', async () => {
    const key = await makeKey(db, await makeOrg(db), { requestsAtOnce: 1 });
    const instanceId = await beatingInstance(one);
    const first = anAdmitInput(key, instanceId);
    await one.decide({ admit: first });
    await two.ask({ withdraw: first });
    const second = anAdmitInput(key, instanceId);
    expect((await one.decide({ admit: second })).admitted).toBeTruthy();
    await two.ask({ settle: { ...second, answered: true } });
    const held = anAdmitInput(key, instanceId, { reserve: false });
    expect((await one.decide({ admit: held })).admitted).toBeTruthy();
    expect((await two.decide({ reserve: held })).admitted).toBeTruthy();
    await one.ask({ settle: { ...held, errorCode: 'upstream_error' } });
    expect(await monthOfOrg(one, key.orgId)).toMatchObject({
      requests: 2,
      chargedTokens: 2_000,
      inFlight: 0,
    });
  });

  it('returns the models that a key may call, and whether the plan has images', async () => {
    const orgId = await makeOrg(db, { images: false });
    const modelId = await makeModel(db, orgId);
    const key = await makeKey(db, orgId, { modelIds: [modelId] });
    const { authenticate } = await one.ask({ authenticate: { orgTag: key.orgTag, keyHash: key.hash } });
    expect(authenticate?.principal).toMatchObject({
      allModels: false,
      modelIds: [modelId],
      imagesAllowed: false,
    });
    const admission = anAdmitInput(key, await beatingInstance(one), { hasImages: true });
    expect((await one.decide({ admit: admission })).planUpgradeRequired).toEqual({});
  });

  it('answers each call of a message, whatever happens to the others', async () => {
    const key = await makeKey(db, await makeOrg(db), { requestsPerMinute: 3 });
    const instanceId = await beatingInstance(one);
    const replies = await Promise.all([
      ...Array.from({ length: 5 }, () => one.ask({ admit: anAdmitInput(key, instanceId) })),
      one.ask({ admit: anAdmitInput({ orgId: 'no good', keyId: 'x' }, instanceId) }),
      one.ask({ authenticate: { orgTag: key.orgTag, keyHash: Buffer.alloc(3) } }),
      one.ask({ authenticate: { orgTag: key.orgTag, keyHash: Buffer.alloc(32) } }),
      one.ask({}),
    ]);
    expect(replies.filter((reply) => reply.admission?.admitted)).toHaveLength(3);
    expect(replies.filter((reply) => reply.admission?.rateLimited)).toHaveLength(2);
    expect(replies.slice(5).map((reply) => reply.failed?.reason.split(':')[0] ?? null)).toEqual([
      'bad_call',
      'bad_call',
      null,
      'bad_call',
    ]);
    expect(replies[7]?.authenticate?.keyInvalid).toEqual({});
  });
});

describe('caps', () => {
  it('admit exactly as many of 200 parallel requests through two limiters as each limit allows [plan.requests-minute] [plan.strict] [service.shared-limits]', async () => {
    const cases = [
      { plan: { tokensPerMonth: 23_500 }, key: {}, admitted: 23, refusal: 'quotaExceeded' },
      { plan: { requestsPerMonth: 17 }, key: {}, admitted: 17, refusal: 'quotaExceeded' },
      { plan: { requestsPerMinute: 31 }, key: {}, admitted: 31, refusal: 'rateLimited' },
      { plan: { requestsAtOnce: 29 }, key: {}, admitted: 29, refusal: 'rateLimited' },
      { plan: {}, key: { requestsPerMinute: 5 }, admitted: 5, refusal: 'rateLimited' },
      { plan: {}, key: { requestsAtOnce: 2 }, admitted: 2, refusal: 'rateLimited' },
    ] as const;
    for (const { plan, key: limits, admitted, refusal } of cases) {
      const key = await makeKey(db, await makeOrg(db, plan), limits);
      const instances = await Promise.all([beatingInstance(one), beatingInstance(two)]);
      const outcomes = await Promise.all(
        Array.from({ length: 200 }, (_, i) =>
          (i % 2 ? one : two).decide({ admit: anAdmitInput(key, instances[i % 2 ? 0 : 1] ?? '') }),
        ),
      );
      expect(outcomes.filter((outcome) => outcome.admitted)).toHaveLength(admitted);
      expect(outcomes.filter((outcome) => outcome[refusal])).toHaveLength(200 - admitted);
    }
  });

  it('count requests without a slot in the same windows', async () => {
    const key = await makeKey(db, await makeOrg(db), { requestsPerMinute: 2 });
    const countRequest = { orgId: key.orgId, keyId: key.keyId };
    const instanceId = await beatingInstance(one);
    const beforeMs = Date.now();
    expect((await one.decide({ countRequest })).admitted?.window).toMatchObject({ limit: 2, remaining: 1 });
    expect((await one.decide({ admit: anAdmitInput(key, instanceId) })).admitted).toBeTruthy();
    const refused = (await two.decide({ countRequest })).rateLimited;
    expect(refused).toMatchObject({ cause: 'CAUSE_KEY_REQUESTS_PER_MINUTE', limit: 2 });
    expect(refused?.retryAfterMs).toBeGreaterThanOrEqual(60_000 - (Date.now() - beforeMs) - 1);
    expect(refused?.retryAfterMs).toBeLessThanOrEqual(60_000);
    expect(await monthOfOrg(one, key.orgId)).toMatchObject({ requests: 1, inFlight: 1 });
  });

  it('follow a plan as soon as it is refreshed, down and up, through every limiter [plan.freed.increase]', async () => {
    const orgId = await makeOrg(db, { requestsAtOnce: 3 });
    const key = await makeKey(db, orgId);
    const instanceId = await beatingInstance(one);
    const held = Array.from({ length: 3 }, () => anAdmitInput(key, instanceId));
    for (const admit of held) expect((await one.decide({ admit })).admitted).toBeTruthy();

    await changePlan(db, orgId, { requestsAtOnce: 1 });
    await callUnary(one.client, 'refreshOrgs', { orgIds: [orgId] }, PATIENT_CALL);
    await eventually(() => two.notices.some(({ orgChanged }) => orgChanged?.orgId === orgId));
    const refusedAt = async () => (await two.decide({ admit: anAdmitInput(key, instanceId) })).rateLimited;
    expect(await refusedAt()).toMatchObject({ cause: 'CAUSE_ORG_REQUESTS_AT_ONCE', limit: 1 });
    for (const settle of held.slice(0, 2)) await one.ask({ settle: { ...settle, answered: true } });
    expect(await refusedAt()).toMatchObject({ limit: 1 });
    await changePlan(db, orgId, { requestsAtOnce: 2 });
    await callUnary(two.client, 'refreshOrgs', { orgIds: [orgId] }, PATIENT_CALL);
    expect((await one.decide({ admit: anAdmitInput(key, instanceId) })).admitted).toBeTruthy();
    expect(await refusedAt()).toMatchObject({ limit: 2 });
  });

  it('change under load from the next request on, through every limiter', async () => {
    const orgId = await makeOrg(db, { requestsAtOnce: 14 });
    const keys = await Promise.all(Array.from({ length: 20 }, () => makeKey(db, orgId)));
    const instanceId = await beatingInstance(one);
    let [held, most, running] = [0, 0, true];
    const rounds = keys.map(() => 0);
    const caller = async (key: TestKey, i: number) => {
      const session = i % 2 ? one : two;
      for (; running; rounds[i] = (rounds[i] ?? 0) + 1) {
        const admission = anAdmitInput(key, instanceId);
        const { admitted } = await session.decide({ admit: admission });
        if (!admitted) continue;
        most = Math.max(most, ++held);
        await session.ask({ heartbeat: { instanceId } });
        held--;
        await session.ask({ settle: { ...admission, answered: true } });
      }
    };
    const callers = Promise.all(keys.map(caller));
    const nextRound = async () => {
      const before = [...rounds];
      await eventually(() => rounds.every((round, i) => round > (before[i] ?? 0)));
    };
    const putInForce = async (requestsAtOnce: number, by: SessionClient) => {
      await changePlan(db, orgId, { requestsAtOnce });
      await callUnary(by.client, 'refreshOrgs', { orgIds: [orgId] }, PATIENT_CALL);
      // Anything admitted before may be held until its round ends.
      await nextRound();
      most = 0;
      await nextRound();
    };
    for (const [limit, by, least] of [
      [3, one, 1],
      [9, two, 4],
      [1, two, 1],
      [14, one, 4],
    ] as const) {
      await putInForce(limit, by);
      await eventually(() => most >= least);
      expect(most).toBeLessThanOrEqual(limit);
    }
    running = false;
    await callers;
  });

  it('of the month refuse an admission that the month has no room for, even before its reservation, and it leaves no trace [plan.reservation.first]', async () => {
    const orgId = await makeOrg(db, { tokensPerMonth: 1_500, requestsPerMinute: 1 });
    const key = await makeKey(db, orgId);
    const instanceId = await beatingInstance(one);
    const spent = anAdmitInput(key, instanceId, { reserve: false, contextTokens: 1_501 });
    for (let i = 0; i < 3; i++) {
      expect((await two.decide({ admit: spent })).quotaExceeded?.cause).toBe('CAUSE_TOKENS');
    }
    const none = { requests: 0, chargedTokens: 0, reservedTokens: 0, inFlight: 0 };
    expect(await monthOfOrg(one, orgId)).toMatchObject(none);
    const fits = anAdmitInput(key, instanceId, { reserve: false, contextTokens: 1_500 });
    expect((await two.decide({ admit: fits })).admitted?.window?.remaining).toBe(0);
    expect(await monthOfOrg(one, orgId)).toMatchObject({ ...none, inFlight: 1 });
    // The requests a minute are checked first.
    expect((await two.decide({ admit: spent })).rateLimited?.cause).toBe('CAUSE_ORG_REQUESTS_PER_MINUTE');
  });

  it('allow an organization two large bodies at once, and refuse a take that its release has overtaken [limit.large-bodies]', async () => {
    const { orgId } = await makeKey(db, await makeOrg(db));
    const instanceId = await beatingInstance(one);
    const large = (admissionId: string) => ({ orgId, instanceId, admissionId });
    const take = async (session: SessionClient, id: string) =>
      (await session.ask({ takeLargeBody: large(id) })).takeLargeBody?.result;
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, i) => take(i % 2 ? one : two, `body${i}`)),
    );
    expect(results.filter((result) => result === 'RESULT_TAKEN')).toHaveLength(2);
    expect(results.filter((result) => result === 'RESULT_FULL')).toHaveLength(18);
    const taken = results.indexOf('RESULT_TAKEN');
    expect(await take(one, `body${taken}`)).toBe('RESULT_TAKEN');
    await one.ask({ releaseLargeBody: large(`body${taken}`) });
    await two.ask({ releaseLargeBody: large(`body${taken}`) });
    await one.ask({ releaseLargeBody: large('early') });
    expect(await take(one, 'early')).toBe('RESULT_LEASE_LOST');
    expect(await take(one, 'next')).toBe('RESULT_TAKEN');
    expect(await take(one, 'over')).toBe('RESULT_FULL');
  });
});

describe('a withdrawal', () => {
  it('leaves no trace of the admission, nor of its reservation', async () => {
    const key = await makeKey(db, await makeOrg(db), { requestsPerMinute: 1, requestsAtOnce: 1 });
    const instanceId = await beatingInstance(one);
    for (const reserve of [true, false, true]) {
      const admission = anAdmitInput(key, instanceId, { reserve });
      expect((await one.decide({ admit: admission })).admitted?.window).toMatchObject({ remaining: 0 });
      await one.ask({ withdraw: admission });
      await one.ask({ withdraw: admission });
    }
    expect(await monthOfOrg(one, key.orgId)).toMatchObject({ requests: 0, reservedTokens: 0, inFlight: 0 });
  });

  it('that overtakes its admission refuses the admission', async () => {
    const key = await makeKey(db, await makeOrg(db), { requestsPerMinute: 1 });
    const instanceId = await beatingInstance(one);
    const admission = anAdmitInput(key, instanceId);
    await one.ask({ withdraw: admission });
    expect((await two.decide({ admit: admission })).leaseLost).toEqual({});
    expect((await one.decide({ admit: anAdmitInput(key, instanceId) })).admitted).toBeTruthy();
  });

  it('of a settled admission changes nothing', async () => {
    const key = await makeKey(db, await makeOrg(db));
    const admission = anAdmitInput(key, await beatingInstance(one));
    await one.decide({ admit: admission });
    await one.ask({ settle: { ...admission, answered: false, errorCode: 'client_closed' } });
    await one.ask({ withdraw: admission });
    expect(await monthOfOrg(one, key.orgId)).toMatchObject({
      requests: 1,
      chargedTokens: 1_000,
      inFlight: 0,
    });
  });
});

describe('keys', () => {
  it('work as soon as they are created, and unknown ones do not', async () => {
    const orgId = await makeOrg(db);
    const stranger = await makeKey(db, await makeOrg(db));
    const ask = async (orgTag: string, keyHash: Buffer) =>
      (await one.ask({ authenticate: { orgTag, keyHash } })).authenticate;
    expect((await ask(orgTagOf(orgId), Buffer.alloc(32, 7)))?.keyInvalid).toEqual({});
    // The key belongs to a different organization than its value says.
    expect((await ask(orgTagOf(orgId), stranger.hash))?.keyInvalid).toEqual({});
    const key = await makeKey(db, orgId);
    expect((await ask(key.orgTag, key.hash))?.principal?.keyId).toBe(key.keyId);
  });

  it('are refused by every limiter once RevokeKey has answered, and gateways get a notice [state.key.revoked.next]', async () => {
    const key = await makeKey(db, await makeOrg(db));
    const instanceId = await beatingInstance(two);
    expect((await two.decide({ admit: anAdmitInput(key, instanceId) })).admitted).toBeTruthy();
    await db.apiKey.update({ where: { id: key.keyId }, data: { revokedAt: new Date() } });
    const { orgId, keyId, hash: keyHash } = key;
    await callUnary(one.client, 'revokeKey', { orgId, keyId, keyHash }, PATIENT_CALL);
    expect((await two.decide({ admit: anAdmitInput(key, instanceId) })).keyInvalid).toEqual({});
    expect((await two.decide({ countRequest: { orgId, keyId } })).keyInvalid).toEqual({});
    const { authenticate } = await two.ask({ authenticate: { orgTag: key.orgTag, keyHash } });
    expect(authenticate?.keyInvalid).toEqual({});
    await eventually(() => two.notices.some(({ keyRevoked }) => keyRevoked?.keyId === keyId));
  });

  it('that are revoked between admission and reservation get no reservation from any limiter [auth.revoked]', async () => {
    const instanceId = await beatingInstance(two);
    const orgId = await makeOrg(db);
    const [revoked, other] = [await makeKey(db, orgId), await makeKey(db, orgId)];
    const admissions = [revoked, revoked, other].map((key) =>
      anAdmitInput(key, instanceId, { reserve: false }),
    );
    for (const admit of admissions) expect((await two.decide({ admit })).admitted).toBeTruthy();
    await callUnary(
      one.client,
      'revokeKey',
      { orgId, keyId: revoked.keyId, keyHash: revoked.hash },
      PATIENT_CALL,
    );
    const [first = null, second = null, third = null] = admissions;
    // The second limiter knows whose keys these are. The first does not.
    expect((await one.decide({ reserve: first })).keyInvalid).toEqual({});
    expect((await two.decide({ reserve: second })).keyInvalid).toEqual({});
    expect((await one.decide({ reserve: third })).admitted).toBeTruthy();
    for (const withdraw of admissions) await two.ask({ withdraw });
    expect(await monthOfOrg(one, orgId)).toMatchObject({ requests: 0, reservedTokens: 0, inFlight: 0 });
  });

  it('stay revoked when an older read of Postgres arrives late [state.key.revoked.final]', async () => {
    const key = await makeKey(db, await makeOrg(db));
    const { orgId, keyId, hash: keyHash } = key;
    // The row still says active, as a slow read-through would have seen it.
    await callUnary(one.client, 'revokeKey', { orgId, keyId, keyHash }, PATIENT_CALL);
    const { authenticate } = await two.ask({ authenticate: { orgTag: key.orgTag, keyHash } });
    expect(authenticate?.keyInvalid).toEqual({});
    const instanceId = await beatingInstance(two);
    expect((await two.decide({ admit: anAdmitInput(key, instanceId) })).keyInvalid).toEqual({});
  });

  it('of a page work until the instant they end, although their day goes on', async () => {
    const expiresAt = new Date(Date.now() + 600_000);
    const expiresOn = expiresAt.toISOString().slice(0, 10);
    const key = await makeKey(db, await makeOrg(db), { expiresOn, expiresAt });
    const authenticate = { orgTag: key.orgTag, keyHash: key.hash };
    expect((await one.ask({ authenticate })).authenticate?.principal?.expiresAtMs).toBe(expiresAt.getTime());
    const after = rig.session(await rig.limiter({ clockOffsetMs: 600_000 }));
    expect((await after.ask({ authenticate })).authenticate?.keyInvalid).toEqual({});
  });

  it('work until the end of their last day in UTC, and no longer [key.expires.effect]', async () => {
    const today = new Date().toISOString().slice(0, 10);
    const key = await makeKey(db, await makeOrg(db), { expiresOn: today });
    const endMs = Date.parse(`${today}T00:00:00Z`) + DAY_MS;
    const at = async (ms: number) => rig.session(await rig.limiter({ clockOffsetMs: ms - Date.now() }));
    const before = await at(endMs - 600_000);
    const after = await at(endMs);
    const authenticate = { orgTag: key.orgTag, keyHash: key.hash };
    expect((await before.ask({ authenticate })).authenticate?.principal?.expiresAtMs).toBe(endMs);
    expect((await after.ask({ authenticate })).authenticate?.keyInvalid).toEqual({});
    const instanceId = await beatingInstance(before);
    const held = anAdmitInput(key, instanceId, { reserve: false });
    const reserved = anAdmitInput(key, instanceId, { reserve: false });
    for (const admit of [held, reserved]) expect((await before.decide({ admit })).admitted).toBeTruthy();
    expect((await before.decide({ reserve: reserved })).admitted).toBeTruthy();
    expect((await after.decide({ reserve: held })).keyInvalid).toEqual({});
    expect((await after.decide({ reserve: reserved })).admitted).toBeTruthy();
    expect((await after.decide({ admit: anAdmitInput(key, instanceId) })).keyInvalid).toEqual({});
    const { orgId, keyId } = key;
    expect((await after.decide({ countRequest: { orgId, keyId } })).keyInvalid).toEqual({});
  });
});

describe('invalid keys', () => {
  it('from one address are answered as invalid exactly 20 times in 100 parallel requests, and every session learns of the block [auth.invalid-keys]', async () => {
    const address = '203.0.113.7';
    const beforeMs = Date.now();
    const replies = await Promise.all(
      Array.from({ length: 100 }, (_, i) => (i % 2 ? one : two).ask({ reportInvalidKey: { address } })),
    );
    const remaining = replies.map((reply) => reply.reportInvalidKey?.blockedRemainingMs ?? -1);
    expect(remaining.filter((ms) => ms === 0)).toHaveLength(20);
    const leastMs = 60_000 - (Date.now() - beforeMs) - 1;
    expect(remaining.filter((ms) => ms >= leastMs && ms <= 60_000 && ms > 0)).toHaveLength(80);
    const other = await one.ask({ reportInvalidKey: { address: '203.0.113.8' } });
    expect(other.reportInvalidKey?.blockedRemainingMs).toBe(0);

    const told = ({ notices }: SessionClient) => notices.some((n) => n.addressBlocked?.address === address);
    await eventually(() => told(one) && told(two));
    const late = rig.session(await rig.limiter());
    await eventually(() => told(late));
  });

  it('block their address at the reporting gateway with the answer to the 20th, even if no notice comes back', async () => {
    const address = '203.0.113.10';
    const session = rig.session(await rig.limiter());
    const isTold = () => session.notices.some((notice) => notice.addressBlocked?.address === address);
    for (let i = 0; i < 19; i++) await session.ask({ reportInvalidKey: { address } });
    expect(isTold()).toBe(false);
    const client = createRedisClient(redis.url);
    await client.call('CLIENT', 'KILL', 'TYPE', 'pubsub').finally(() => client.disconnect());
    expect((await session.ask({ reportInvalidKey: { address } })).reportInvalidKey?.blockedRemainingMs).toBe(
      0,
    );
    expect(isTold()).toBe(true);
  });

  it('leave Redis nothing that outlives the block of their address', async () => {
    const address = '203.0.113.9';
    for (let i = 0; i < 21; i++) await one.ask({ reportInvalidKey: { address } });
    const client = createRedisClient(redis.url);
    try {
      expect(await client.zscore('tg:{bad}:blocked', address)).not.toBeNull();
      const keptMs = await client.pttl('tg:{bad}:blocked');
      expect(keptMs).toBeGreaterThan(0);
      expect(keptMs).toBeLessThanOrEqual(60_000);
      expect(await client.exists(`tg:{bad}:${address}`)).toBe(0);
    } finally {
      client.disconnect();
    }
  });

  it('are counted from zero when the block is over [auth.invalid-keys.minute]', async () => {
    const address = '2001:db8::/64';
    const report = async (session: SessionClient) =>
      (await session.ask({ reportInvalidKey: { address } })).reportInvalidKey?.blockedRemainingMs;
    for (let i = 0; i < 20; i++) expect(await report(one)).toBe(0);
    expect(await report(one)).toBeGreaterThan(0);
    const later = rig.session(await rig.limiter({ clockOffsetMs: 61_000 }));
    for (let i = 0; i < 20; i++) expect(await report(later)).toBe(0);
    expect(await report(later)).toBeGreaterThan(0);
  });
});

describe('unary calls', () => {
  it('refuse malformed requests with INVALID_ARGUMENT', async () => {
    const refs = Array.from({ length: 1_001 }, () => ({ orgId: 'org_x', outboxId: '1-1' }));
    for (const settlements of [
      refs,
      [{ orgId: 'org_x', outboxId: '*' }],
      [{ orgId: 'a b', outboxId: '1-1' }],
    ])
      await expect(
        callUnary(one.client, 'confirmSettlements', { settlements }, PATIENT_CALL),
      ).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
    const keyHash = Buffer.alloc(31);
    await expect(
      callUnary(one.client, 'revokeKey', { orgId: 'org_x', keyId: 'key_x', keyHash }, PATIENT_CALL),
    ).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
  });
});

describe('a report of refusals', () => {
  it('is written once, even if another limiter gets it too, and changes no month', async () => {
    const key = await makeKey(db, await makeOrg(db));
    const count = { ...key, modelId: '', code: 'model_not_found', cause: '', hourMs: DAY_MS, refusals: 3 };
    const reportRefusals = { gatewayId: 'gw_a', sequence: 1, counts: [count] };
    const before = await monthOfOrg(one, key.orgId);
    for (const session of [one, two])
      expect(await session.ask({ reportRefusals })).toHaveProperty('reportRefusals', {});
    const { orgId } = key;
    expect(await db.refusalHour.findMany({ where: { orgId } })).toMatchObject([{ refusals: 3n }]);
    expect(await monthOfOrg(two, orgId)).toEqual(before);
  });

  it('that is malformed is refused before anything is written', async () => {
    const key = await makeKey(db, await makeOrg(db));
    const count = { ...key, modelId: '', code: 'model_not_found', cause: '', hourMs: DAY_MS, refusals: 1 };
    const report = (sequence: number, counts: object[]) =>
      one.ask({ reportRefusals: { gatewayId: 'gw_b', sequence, counts } });
    for (const reply of [
      await report(0, [count]),
      await report(1, [{ ...count, code: 'Not A Code' }]),
      await report(1, [{ ...count, refusals: 0 }]),
      await report(1, Array(1_001).fill(count)),
    ])
      expect(reply.failed?.reason).toContain('bad_call');
    expect(await db.refusalHour.count({ where: { orgId: key.orgId } })).toBe(0);
  });
});
