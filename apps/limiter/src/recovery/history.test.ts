import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newInstanceId, type Settlement } from '@tidegate/contracts';
import { closeDb, type Db, ensureRequestPartitions } from '@tidegate/db';
import { dayOf } from '@tidegate/limits';
import { mostInAnyWindow } from '@tidegate/limits/model';
import { cases, type TestPostgres, type TestRedis, testPostgres, testRedis } from '@tidegate/testing';
import fc from 'fast-check';
import { Admissions } from '../admission/admissions.ts';
import type { AdmissionRef } from '../admission/ref.ts';
import type { LostAdmission } from '../admission/restore.ts';
import { sendHeartbeat } from '../leases/lease.ts';
import { confirmSettlements } from '../outbox/confirm.ts';
import { parseOutboxEntry } from '../outbox/entry.ts';
import { Seeder } from '../seeding/seeder.ts';
import { anAdmitInput } from '../testing/admit-input.ts';
import {
  connectDb,
  makeKey,
  makeOrg,
  openStore,
  PATIENT_READS,
  type TestKey,
  type TestStore,
} from '../testing/fixture.ts';

const CAPS = { requestsPerMinute: 6, requestsAtOnce: 4, requestsPerMonth: 14, tokensPerMonth: 1_000 };
const CONTEXT_TOKENS = 100;
const GATEWAYS = 2;
/** The middle of a month, so that no history reaches its end. */
const BASE_MS = Date.UTC(2026, 5, 10, 12);
const MONTH = '2026-06';
/** By then every live gateway has noticed a loss. */
const NOTICED_MS = 8_000;

type Step =
  | { readonly do: 'admit'; readonly gateway: number; readonly reserve: boolean }
  | { readonly do: 'reserve' | 'withdraw'; readonly gateway: number; readonly which: number }
  | { readonly do: 'settle'; readonly gateway: number; readonly which: number; readonly used: number }
  | { readonly do: 'notice'; readonly gateway: number }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'meter' | 'lose' };

const gateway = fc.nat(GATEWAYS - 1);
const which = fc.nat(9);
const constant = <T extends string>(name: T) => fc.constant(name);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 9, arbitrary: fc.record({ do: constant('admit'), gateway, reserve: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('reserve', 'withdraw'), gateway, which }) },
  {
    weight: 5,
    arbitrary: fc.record({ do: constant('settle'), gateway, which, used: fc.nat(CONTEXT_TOKENS) }),
  },
  { weight: 2, arbitrary: fc.record({ do: constant('notice'), gateway }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: constant('wait'), ms: fc.constantFrom(500, 7_000, 59_000, 61_000) }),
  },
  { weight: 2, arbitrary: fc.record({ do: constant('meter') }) },
  { weight: 2, arbitrary: fc.record({ do: constant('lose') }) },
);

interface Grant {
  readonly ref: AdmissionRef;
  /** With its fraction, as in the window. */
  readonly inWindowMs: number;
  readonly admittedAtMs: number;
  reservedAtMs: number;
  used: number | null;
}

/**
 * The part of a gateway that matters in a loss: it remembers what it was granted and what it
 * settled.
 */
class TestGateway {
  readonly instanceId = newInstanceId();
  grants: Grant[] = [];
  registered = false;

  get open(): Grant[] {
    return this.grants.filter(({ used }) => used === null);
  }
}

const requestEndOf = (used: number) => ({
  answered: true,
  usage: { promptTokens: used, completionTokens: 0 },
  durationMs: 1,
  errorCode: null,
  firstChunkMs: null,
});

class Run {
  readonly key: TestKey;
  readonly gateways = Array.from({ length: GATEWAYS }, () => new TestGateway());
  readonly admittedMs: number[] = [];
  /** Charged tokens of settled reservations, by reservation id. */
  readonly charges = new Map<string, number>();
  offsetMs = BASE_MS - Date.now();

  constructor(key: TestKey) {
    this.key = key;
  }

  /** A new limiter on each access, at the test's current time. */
  get limiter() {
    const scriptDeps = store.scriptDepsAt(this.offsetMs);
    const seeder = new Seeder(scriptDeps, db, PATIENT_READS);
    return {
      scriptDeps,
      admissions: new Admissions({ ...scriptDeps, seeder, onSettled: () => {}, onCounted: () => {} }),
    };
  }

  async take(s: Step): Promise<void> {
    if (s.do === 'wait') return this.wait(s.ms);
    if (!('gateway' in s)) {
      await (s.do === 'meter' ? this.meter() : store.everywhere('flushall'));
      return;
    }
    const gateway = this.gateways[s.gateway] as TestGateway;
    if (s.do === 'admit') return this.admit(gateway, s.reserve);
    if (!('which' in s)) return this.beat(gateway);
    const grant = gateway.open[s.which % Math.max(1, gateway.open.length)];
    if (!grant) return;
    if (s.do === 'reserve') await this.reserve(grant);
    else if (s.do === 'settle') await this.settle(grant, s.used);
    else {
      await this.limiter.admissions.withdraw(grant.ref);
      gateway.grants = gateway.grants.filter((one) => one !== grant);
      this.admittedMs.splice(this.admittedMs.indexOf(grant.inWindowMs), 1);
    }
  }

  async wait(ms: number): Promise<void> {
    if (ms >= NOTICED_MS) for (const one of this.gateways) await this.beat(one);
    this.offsetMs += ms;
  }

  async beat(gateway: TestGateway): Promise<void> {
    const { scriptDeps, admissions } = this.limiter;
    const beat = await sendHeartbeat(scriptDeps, gateway.instanceId, gateway.registered);
    gateway.registered = true;
    if (beat === 'alive') return;
    expect(beat).toBe('lease_unknown');
    await sendHeartbeat(scriptDeps, gateway.instanceId, false);
    for (const grant of gateway.grants) {
      if (grant.used !== null) await admissions.restoreSettled(this.lost(grant), requestEndOf(grant.used));
      else expect(await admissions.restore(this.lost(grant))).not.toBe('lease_lost');
    }
  }

  lost({ ref, admittedAtMs, reservedAtMs }: Grant): LostAdmission {
    const { keyId } = this.key;
    const what = { keyId, modelId: 'mdl_test', contextTokens: CONTEXT_TOKENS, streamed: false };
    return { ...ref, ...what, admittedAtMs, reservedAtMs };
  }

  async admit(gateway: TestGateway, reserve: boolean): Promise<void> {
    if (!gateway.registered) await this.beat(gateway);
    const wanted = { contextTokens: CONTEXT_TOKENS, reserve };
    const admission = anAdmitInput(this.key, gateway.instanceId, wanted);
    // LimiterError means that the instance's lease is unknown and its gateway has not noticed yet.
    const decision = await this.limiter.admissions.admit(admission).catch(() => null);
    if (decision?.kind !== 'admitted') return;
    const { orgId, instanceId, admissionId } = admission;
    const inWindowMs = decision.nowUs / 1_000;
    const admittedAtMs = Math.floor(inWindowMs);
    this.admittedMs.push(inWindowMs);
    const ref = { orgId, instanceId, admissionId };
    const reservedAtMs = reserve ? admittedAtMs : 0;
    gateway.grants.push({ ref, inWindowMs, admittedAtMs, reservedAtMs, used: null });
  }

  async reserve(grant: Grant): Promise<void> {
    const decision = await this.limiter.admissions.reserve(grant.ref);
    if (decision.kind === 'admitted' && grant.reservedAtMs === 0)
      grant.reservedAtMs = Math.floor(decision.nowUs / 1_000);
  }

  async settle(grant: Grant, used: number): Promise<void> {
    if (grant.reservedAtMs === 0) return;
    await this.limiter.admissions.settle(grant.ref, requestEndOf(used));
    grant.used = used;
    this.charges.set(grant.ref.admissionId, used);
  }

  /** Works like metering: writes what is new to Postgres in one transaction, then confirms. */
  async meter(): Promise<void> {
    const { orgId } = this.key;
    const entries = await store.redis.xrange(store.names.outbox(orgId), '-', '+');
    const settlements = entries.map(
      ([id, fields]) => parseOutboxEntry(orgId, id, fields[1] ?? '') as Settlement,
    );
    await db.$transaction(async (tx) => {
      for (const s of settlements) {
        const fresh = await tx.request.createMany({ data: [rowOf(s)], skipDuplicates: true });
        if (fresh.count === 0) continue;
        const charged = BigInt(s.chargedTokens);
        await tx.monthTotal.upsert({
          where: { orgId_month: { orgId, month: MONTH } },
          create: { orgId, month: MONTH, requests: 1n, chargedTokens: charged },
          update: { requests: { increment: 1n }, chargedTokens: { increment: charged } },
        });
      }
    });
    await confirmSettlements(
      this.limiter.scriptDeps,
      settlements.map(({ outboxId }) => ({ orgId, outboxId })),
    );
  }

  /** Checks that what this test observed is within the caps, and so is what the limiter counts. */
  async check(): Promise<void> {
    const { orgId } = this.key;
    const ledger = await store.redis.hgetall(store.names.month(orgId, MONTH));
    const inFlight = await store.redis.hget(store.names.org(orgId), 'in_flight');
    expect(Number(inFlight ?? 0)).toBeLessThanOrEqual(CAPS.requestsAtOnce);
    expect(Number(ledger.charged ?? 0) + Number(ledger.reserved ?? 0)).toBeLessThanOrEqual(
      CAPS.tokensPerMonth,
    );
    expect(Number(ledger.requests ?? 0)).toBeLessThanOrEqual(CAPS.requestsPerMonth);
    const open = this.gateways.flatMap((one) => one.open);
    const reserved = open.filter(({ reservedAtMs }) => reservedAtMs > 0).length;
    const charged = [...this.charges.values()].reduce((sum, used) => sum + used, 0);
    expect(open.length).toBeLessThanOrEqual(CAPS.requestsAtOnce);
    expect(mostInAnyWindow(this.admittedMs)).toBeLessThanOrEqual(CAPS.requestsPerMinute);
    expect(charged + reserved * CONTEXT_TOKENS).toBeLessThanOrEqual(CAPS.tokensPerMonth);
    expect(this.charges.size + reserved).toBeLessThanOrEqual(CAPS.requestsPerMonth);
  }

  /**
   * Checks, once the loss is over, that nothing was lost: the ledger and Postgres have what this
   * test observed.
   */
  async checkEnd(): Promise<void> {
    await this.wait(NOTICED_MS);
    await this.wait(61_000);
    // An organization is seeded when a request asks for it, and opens a minute later.
    const { admissions } = this.limiter;
    await admissions.countRequest(this.key.orgId, this.key.keyId);
    this.offsetMs += 61_000;
    for (const one of this.gateways) for (const grant of one.open) await this.settle(grant, 1);
    const { orgId } = this.key;
    const seeder = new Seeder(this.limiter.scriptDeps, db, PATIENT_READS);
    await seeder.seedMonth(orgId, MONTH);
    const ledger = await store.redis.hgetall(store.names.month(orgId, MONTH));
    await this.meter();
    const row = await db.monthTotal.findUnique({ where: { orgId_month: { orgId, month: MONTH } } });
    const charged = [...this.charges.values()].reduce((sum, used) => sum + used, 0);
    const totals = { requests: this.charges.size, charged };
    expect({ requests: Number(row?.requests ?? 0), charged: Number(row?.chargedTokens ?? 0) }).toEqual(
      totals,
    );
    const unreserved = this.gateways.flatMap((one) => one.open).length;
    const inFlight = await store.redis.hget(store.names.org(orgId), 'in_flight');
    expect(Number(inFlight ?? 0)).toBe(unreserved);
    expect(ledger).toEqual({ requests: String(totals.requests), charged: String(charged), reserved: '0' });
  }
}

const rowOf = (s: Settlement) => ({
  reservationId: s.reservationId,
  day: new Date(dayOf(s.reservedAtMs)),
  orgId: s.orgId,
  keyId: s.keyId,
  modelId: s.modelId,
  reservedAt: new Date(s.reservedAtMs),
  answered: s.answered,
  errorCode: s.errorCode,
  streamed: s.streamed,
  promptTokens: s.promptTokens,
  completionTokens: s.completionTokens,
  reservedTokens: s.reservedTokens,
  chargedTokens: s.chargedTokens,
  durationMs: s.durationMs,
  firstChunkMs: s.firstChunkMs,
});

let postgres: TestPostgres;
let redis: TestRedis;
let db: Db;
let store: TestStore;

beforeAll(async () => {
  [postgres, redis] = await Promise.all([testPostgres(), testRedis()]);
  db = connectDb(postgres.url);
  store = await openStore(redis.url);
  await ensureRequestPartitions(db, [dayOf(BASE_MS), dayOf(BASE_MS + 86_400_000)]);
});

afterAll(async () => {
  store.redis.disconnect();
  await closeDb(db);
  await Promise.all([redis.stop(), postgres.drop()]);
});

describe('a Redis that loses everything, at any time and more than once', () => {
  it('exceeds no cap, and loses or doubles no settlement', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 15, maxLength: 50 }), async (steps) => {
        const run = new Run(await makeKey(db, await makeOrg(db, CAPS)));
        for (const s of steps) {
          await run.take(s);
          await run.check();
        }
        await run.checkEnd();
      }),
      { numRuns: cases(12) },
    );
  });
});
