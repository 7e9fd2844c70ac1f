import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newInstanceId, newKeyId, newOrgId } from '@tidegate/contracts';
import { charge } from '@tidegate/limits';
import {
  canReserve,
  EMPTY_MONTH,
  type MonthLedger,
  mayAdmit,
  mostInAnyWindow,
  reserve as reserveIn,
  settle as settleIn,
  withdraw as withdrawFrom,
} from '@tidegate/limits/model';
import { cases, type TestRedis, testRedis } from '@tidegate/testing';
import fc from 'fast-check';
import { joinOrg, sendHeartbeat } from '../leases/lease.ts';
import { revokeKey, seedKey, seedMonth } from '../seeding/seed.ts';
import { anAdmitInput } from '../testing/admit-input.ts';
import { openStore, type TestStore } from '../testing/fixture.ts';
import { putOrg } from '../testing/org.ts';
import { admit } from './admit.ts';
import type { DecisionReply } from './decision.ts';
import { reserve } from './reserve.ts';
import type { WrongScope } from './scope.ts';
import { type SettleReply, settle } from './settle.ts';
import { withdraw } from './withdraw.ts';

const CONTEXT_TOKENS = 100;
const KEYS = 2;
/** Requests of a burst that come together. */
const TOGETHER = 3;

interface Request {
  readonly key: number;
  readonly reserve: boolean;
}

interface End {
  readonly which: number;
  readonly used: number;
  readonly answered: boolean;
}

type Step =
  /** All in one run of the script. */
  | { readonly do: 'admit'; readonly requests: readonly Request[] }
  | { readonly do: 'reserve'; readonly which: readonly number[] }
  | { readonly do: 'withdraw'; readonly which: number }
  | { readonly do: 'settle'; readonly ends: readonly End[] }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'plan'; readonly rpm: number; readonly atOnce: number }
  | { readonly do: 'revoke' };

const which = fc.nat(30);
const request: fc.Arbitrary<Request> = fc.record({ key: fc.nat(KEYS - 1), reserve: fc.boolean() });
const end: fc.Arbitrary<End> = fc.record({
  which,
  used: fc.integer({ min: 0, max: CONTEXT_TOKENS + 20 }),
  answered: fc.boolean(),
});
/** Mostly just one. */
const some = <T>(each: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
  fc.oneof(
    { weight: 2, arbitrary: fc.array(each, { minLength: 1, maxLength: 1 }) },
    { weight: 1, arbitrary: fc.array(each, { minLength: 2, maxLength: 8 }) },
  );
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant('admit' as const), requests: some(request) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('reserve' as const), which: some(which) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('withdraw' as const), which }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('settle' as const), ends: some(end) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.constantFrom(1_000, 20_000, 59_000, 61_000),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('plan' as const),
      rpm: fc.integer({ min: 0, max: 7 }),
      atOnce: fc.integer({ min: 0, max: 5 }),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'revoke' as const }) },
);

interface Open {
  readonly id: string;
  readonly key: number;
  readonly atUs: number;
  reserved: boolean;
}

/**
 * Models the limiter with the arithmetic of packages/limits, for comparison with the real one in
 * Redis.
 */
class Run {
  readonly orgId = newOrgId();
  readonly instanceId = newInstanceId();
  readonly keys = Array.from({ length: KEYS }, () => ({
    id: newKeyId(),
    rpm: 4,
    atOnce: 3,
    revoked: false,
    log: [] as number[],
  }));
  readonly org = { rpm: 6, atOnce: 4, log: [] as number[] };
  readonly caps = { requests: 6, tokens: 500 };
  ledger: MonthLedger = EMPTY_MONTH;
  open: Open[] = [];
  offsetMs: number;
  version = 1;
  readonly test: TestStore;

  constructor(test: TestStore) {
    this.test = test;
    // The middle of a month, so that no step reaches its end.
    this.offsetMs = Date.UTC(2026, 5, 10) - Date.now();
  }

  get scriptDeps() {
    return this.test.scriptDepsAt(this.offsetMs);
  }

  async nowUs(): Promise<number> {
    const [seconds, micros] = await this.test.redis.time();
    return Number(seconds) * 1e6 + Number(micros) + this.offsetMs * 1_000;
  }

  async seed(): Promise<void> {
    await this.putOrg();
    for (const { id, rpm, atOnce } of this.keys)
      await seedKey(this.scriptDeps, {
        keyId: id,
        orgId: this.orgId,
        hash: Buffer.alloc(32),
        revoked: false,
        requestsPerMinute: rpm,
        requestsAtOnce: atOnce,
        expiresAtMs: 0,
        modelIds: null,
      });
    await sendHeartbeat(this.scriptDeps, this.instanceId, false);
    await joinOrg(this.scriptDeps, this.instanceId, this.orgId);
    await seedMonth(this.scriptDeps, this.orgId, '2026-06', { requests: 0, chargedTokens: 0 });
  }

  putOrg(): Promise<unknown> {
    return putOrg(this.scriptDeps, {
      orgId: this.orgId,
      version: this.version++,
      images: true,
      requestsPerMinute: this.org.rpm,
      requestsAtOnce: this.org.atOnce,
      requestsPerMonth: this.caps.requests,
      tokensPerMonth: this.caps.tokens,
    });
  }

  /** The reply that the model expects at this instant. */
  expected(key: number, nowUs: number): string {
    const k = this.keys[key];
    if (!k) throw new Error('no such key');
    if (k.revoked) return 'key_invalid';
    const full = (log: number[], rpm: number) =>
      rpm === 0 ||
      !mayAdmit(
        log.map((us) => us / 1_000),
        rpm,
        nowUs / 1_000,
      );
    if (full(k.log, k.rpm)) return 'rate_limited key_requests_per_minute';
    if (full(this.org.log, this.org.rpm)) return 'rate_limited org_requests_per_minute';
    if (this.open.filter((o) => o.key === key).length >= k.atOnce) return 'rate_limited key_requests_at_once';
    if (this.open.length >= this.org.atOnce) return 'rate_limited org_requests_at_once';
    // This applies even if the request is to reserve later: preparing it for a month that is used
    // up would be pointless.
    const quota = canReserve(this.ledger, this.caps, CONTEXT_TOKENS);
    return quota ? `quota_exceeded ${quota}` : 'admitted';
  }

  async take(s: Step): Promise<void> {
    if (s.do === 'admit') return this.admit(s.requests);
    if (s.do === 'settle') return this.settle(s.ends);
    if (s.do === 'wait') {
      this.offsetMs += s.ms;
      return;
    }
    if (s.do === 'plan') {
      this.org.rpm = s.rpm;
      this.org.atOnce = s.atOnce;
      await this.putOrg();
      return;
    }
    if (s.do === 'revoke') return this.revoke();
    if (s.do === 'reserve') return this.reserve(s.which.flatMap((which) => this.openAt(which) ?? []));
    const open = this.openAt(s.which);
    if (open) await this.withdraw(open);
  }

  openAt(which: number): Open | undefined {
    return this.open[which % Math.max(1, this.open.length)];
  }

  async admit(requests: readonly Request[]): Promise<void> {
    const calls = requests.map(({ key, reserve }) =>
      anAdmitInput({ orgId: this.orgId, keyId: this.keys[key]?.id ?? '' }, this.instanceId, {
        contextTokens: CONTEXT_TOKENS,
        reserve,
      }),
    );
    const beforeUs = await this.nowUs();
    const replies = await Promise.all(
      calls.map((call) => admit(this.scriptDeps, call, this.scriptDeps.clock.month())),
    );
    const afterUs = await this.nowUs();
    requests.forEach((request, i) => {
      const reply = replies[i] as DecisionReply;
      // Entries only leave a window as time passes, so the right reply is that of one of the two
      // instants.
      const expected = [beforeUs, afterUs].map((nowUs) => this.expected(request.key, nowUs));
      expect(expected).toContain(nameOf(reply));
      if (reply.kind === 'admitted') this.admitted(request, calls[i]?.admissionId ?? '', reply);
    });
  }

  admitted({ key, reserve }: Request, id: string, reply: Admitted): void {
    const { nowUs, window } = reply;
    const k = this.keys[key];
    expect(this.expected(key, nowUs)).toBe('admitted');
    k?.log.push(nowUs);
    this.org.log.push(nowUs);
    this.open.push({ id, key, atUs: nowUs, reserved: reserve });
    if (reserve) this.ledger = reserveIn(this.ledger, CONTEXT_TOKENS);
    const left = (log: number[] = [], rpm = 0) => rpm - log.filter((us) => us > nowUs - 60e6).length;
    expect(window?.remaining).toBe(Math.min(left(k?.log, k?.rpm), left(this.org.log, this.org.rpm)));
  }

  async reserve(opens: readonly Open[]): Promise<void> {
    const { scriptDeps } = this;
    const month = scriptDeps.clock.month();
    const keyOf = ({ key }: Open) => this.keys[key]?.id ?? '';
    const ask = (open: Open, keyId: string) =>
      reserve(
        scriptDeps,
        { orgId: this.orgId, instanceId: this.instanceId, admissionId: open.id },
        keyId,
        month,
      );
    const anotherThan = (open: Open) => this.keys.find(({ id }) => id !== keyOf(open))?.id ?? '';
    const withAnotherKey = await Promise.all(opens.map((open) => ask(open, anotherThan(open))));
    for (const [i, open] of opens.entries()) {
      const scope = { kind: 'wrong_scope', scope: { keyId: keyOf(open), month: '-' } };
      if (!open.reserved) expect(withAnotherKey[i]).toEqual(scope);
    }
    const replies = await Promise.all(opens.map((open) => ask(open, keyOf(open))));
    for (const [i, open] of opens.entries()) this.reserved(open, replies[i] as DecisionReply);
  }

  reserved(open: Open, reply: DecisionReply): void {
    expect(nameOf(reply)).toBe(this.expectedOfReservation(open));
    if (reply.kind !== 'admitted' || open.reserved) return;
    open.reserved = true;
    this.ledger = reserveIn(this.ledger, CONTEXT_TOKENS);
  }

  expectedOfReservation({ reserved, key }: Open): string {
    if (reserved) return 'admitted';
    if (this.keys[key]?.revoked) return 'key_invalid';
    const quota = canReserve(this.ledger, this.caps, CONTEXT_TOKENS);
    return quota ? `quota_exceeded ${quota}` : 'admitted';
  }

  /** Revokes the second key, once. The first one stays usable. */
  async revoke(): Promise<void> {
    const key = this.keys[1];
    if (!key) return;
    await revokeKey(this.scriptDeps, this.orgId, key.id, Buffer.alloc(32));
    key.revoked = true;
  }

  async withdraw(open: Open): Promise<void> {
    const ref = { orgId: this.orgId, instanceId: this.instanceId, admissionId: open.id };
    const scope = { keyId: this.keys[open.key]?.id ?? '', month: '2026-06' };
    expect(await withdraw(this.scriptDeps, ref, scope)).toEqual({ kind: 'withdrawn' });
    expect(await withdraw(this.scriptDeps, ref, scope)).toEqual({ kind: 'unknown' });
    this.open = this.open.filter((o) => o !== open);
    for (const log of [this.org.log, this.keys[open.key]?.log ?? []]) log.splice(log.indexOf(open.atUs), 1);
    if (open.reserved) this.ledger = withdrawFrom(this.ledger, CONTEXT_TOKENS);
  }

  /** Of several ends of one admission, only the first counts. */
  async settle(ends: readonly End[]): Promise<void> {
    const opens = ends.map(({ which }) => this.openAt(which));
    const replies = await Promise.all(ends.map((end, i) => this.askToSettle(opens[i], end)));
    for (const [i, end] of ends.entries()) this.settled(opens[i], end, replies[i] as SettleReply);
    // The same goes for a later end in a run of its own.
    for (const [i, end] of ends.entries())
      if (opens[i]?.reserved) expect(await this.askToSettle(opens[i], end)).toEqual({ kind: 'unknown' });
  }

  settled(open: Open | undefined, { answered, used }: End, reply: SettleReply): void {
    if (!open || !this.open.includes(open)) expect(reply).toEqual({ kind: 'unknown' });
    else if (!open.reserved) expect(reply).toEqual({ kind: 'not_reserved' });
    else {
      const charged = charge(CONTEXT_TOKENS, { answered, usage: { prompt: used, completion: 0 } });
      expect(reply).toMatchObject({
        kind: 'settled',
        settlement: { chargedTokens: charged, reservationId: open.id },
      });
      this.open = this.open.filter((o) => o !== open);
      this.ledger = settleIn(this.ledger, CONTEXT_TOKENS, charged);
    }
  }

  askToSettle(open: Open | undefined, { used, answered }: End): Promise<SettleReply> {
    const ref = { orgId: this.orgId, instanceId: this.instanceId, admissionId: open?.id ?? 'none' };
    const scope = { keyId: this.keys[open?.key ?? 0]?.id ?? '', month: '2026-06' };
    const usage = { promptTokens: used, completionTokens: 0 };
    const end = { answered, usage, durationMs: 1, errorCode: 'upstream_error', firstChunkMs: null };
    return settle(this.scriptDeps, ref, scope, end);
  }

  /** Checks that Redis holds what the model predicts. */
  async check(): Promise<void> {
    const { names, redis } = this.test;
    const { orgId } = this;
    const [org, month, keys, held] = await Promise.all([
      redis.hget(names.org(orgId), 'in_flight'),
      redis.hgetall(names.month(orgId, '2026-06')),
      Promise.all(this.keys.map(({ id }) => redis.hget(names.key(orgId, id), 'in_flight'))),
      redis.hgetall(names.open(orgId, this.instanceId)),
    ]);
    expect(Number(org)).toBe(this.open.length);
    expect(keys.map(Number)).toEqual(
      this.keys.map((_, i) => this.open.filter(({ key }) => key === i).length),
    );
    expect({
      requests: Number(month.requests),
      chargedTokens: Number(month.charged),
      reservedTokens: Number(month.reserved),
    }).toEqual(this.ledger);
    const ids = Object.entries(held).flatMap(([id, record]) => (record === 'void' ? [] : [id]));
    expect(ids.sort()).toEqual(this.open.map(({ id }) => id).sort());
    expect(this.ledger.chargedTokens + this.ledger.reservedTokens).toBeLessThanOrEqual(this.caps.tokens);
  }
}

type Admitted = Extract<DecisionReply, { kind: 'admitted' }>;

const nameOf = (reply: DecisionReply | WrongScope): string =>
  'cause' in reply ? `${reply.kind} ${reply.cause}` : reply.kind;

let redis: TestRedis;
let test: TestStore;

beforeAll(async () => {
  redis = await testRedis();
  test = await openStore(redis.url);
});

afterAll(async () => {
  test.redis.disconnect();
  await redis.stop();
});

describe('the scripts', () => {
  it('agree with the arithmetic in every history of admissions [key.rpm.effect]', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async (steps) => {
        const run = new Run(test);
        await run.seed();
        for (const s of steps) {
          await run.take(s);
          await run.check();
        }
        for (const { log } of run.keys)
          expect(mostInAnyWindow(log.map((us) => us / 1_000))).toBeLessThanOrEqual(4);
      }),
      { numRuns: cases(60) },
    );
  });

  it('drop exactly the entries that have left a window, however long it is', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 0, max: 70_000 })), {
          minLength: 1,
          maxLength: 6,
        }),
        async (bursts) => {
          const run = new Run(test);
          run.org.rpm = 1_000;
          run.org.atOnce = 1_000;
          Object.assign(run.caps, { requests: 1_000, tokens: 1e9 });
          for (const k of run.keys) Object.assign(k, { rpm: 1_000, atOnce: 1_000 });
          await run.seed();
          for (const [count, waitMs] of bursts) {
            for (let i = 0; i < count; i += TOGETHER) {
              const length = Math.min(TOGETHER, count - i);
              await run.admit(Array.from({ length }, (_, j) => ({ key: (i + j) % KEYS, reserve: false })));
            }
            run.offsetMs += waitMs;
          }
          const kept = await test.redis.lrange(test.names.orgWindow(run.orgId), 0, -1);
          const last = run.org.log.at(-1) ?? 0;
          expect(kept.map(Number)).toEqual(run.org.log.filter((us) => us > last - 60e6).reverse());
        },
      ),
      { numRuns: cases(15) },
    );
  });

  it('keep a window under steady traffic, and let an idle one expire', async () => {
    const run = new Run(test);
    run.org.rpm = 1_000;
    for (const k of run.keys) Object.assign(k, { rpm: 1_000, atOnce: 1_000 });
    Object.assign(run.org, { atOnce: 1_000 });
    await run.seed();
    const windows = [test.names.orgWindow(run.orgId), test.names.keyWindow(run.orgId, run.keys[0]?.id ?? '')];
    const request = { key: 0, reserve: false };
    await run.admit([request]);
    for (const window of windows) await test.redis.expire(window, 50);
    for (let i = 0; i < 4; i++) {
      run.offsetMs += 300;
      await run.admit([request]);
    }
    for (const window of windows) expect(await test.redis.ttl(window)).toBeGreaterThan(60);
  });
});
