import { afterEach, describe, expect, it } from '@jest/globals';
import type { Notice__Output } from '@tidegate/rpc';
import { createLimiterClient, Peers } from '@tidegate/rpc';
import { eventually } from '@tidegate/testing';
import { INTERNAL_ERROR, PLAN_UPGRADE_REQUIRED } from '../refusals.ts';
import { admitted, FakeLimiter } from '../testing/fake-limiter.ts';
import { type AdmissionHandle, RemoteLimiter, type RemoteLimiterOptions } from './remote-limiter.ts';

const silent = { warn: () => {}, info: () => {} };
const admission = {
  keyId: 'key_1',
  modelId: 'mdl_1',
  contextTokens: 10,
  hasImages: false,
  streamed: false,
  reserve: true,
};
const settlement = {
  answered: true,
  usageValid: true,
  promptTokens: 1,
  completionTokens: 1,
  durationMs: 1,
  errorCode: '',
  firstChunkMs: 0,
};

const running: { stop(): void }[] = [];
afterEach(() => {
  for (const part of running.splice(0)) part.stop();
});

/** Only silence ends a call. */
const PATIENT = { callTimeoutMs: 60_000, heartbeatMs: 60_000 };

/** In the order in which they are preferred. */
const peersAt = (...addresses: string[]) =>
  new Peers({ addresses, random: () => 0, nowMs: () => performance.now() });

async function start(change: Partial<RemoteLimiterOptions> = {}, server?: FakeLimiter) {
  const fake = server ?? (await new FakeLimiter().start());
  const told = { down: 0, lost: [] as string[], notices: [] as Notice__Output[] };
  const limiter = new RemoteLimiter({
    peers: peersAt(fake.address),
    connect: (peer) => createLimiterClient(peer),
    random: () => 0,
    nowMs: () => performance.now(),
    log: silent,
    callTimeoutMs: 60_000,
    silenceMs: 60_000,
    reconnectMs: 20,
    findBetterMs: 20,
    heartbeatMs: 50,
    cutOffMs: 3_600_000,
    settleWaitMs: 50,
    maxOpenCalls: 1_000,
    maxUnacknowledged: 100,
    onDown: () => told.down++,
    onLeaseLost: (instanceId) => told.lost.push(instanceId),
    onNotice: (notice) => told.notices.push(notice),
    ...change,
  });
  limiter.start();
  running.push(limiter, fake);
  await eventually(() => limiter.ready);
  return { limiter, fake, told };
}

describe('the session', () => {
  it('registers the instance before anything else, and keeps its lease', async () => {
    const { fake } = await start();
    expect(fake.calls[0]?.call).toBe('heartbeat');
    await eventually(() => fake.of('heartbeat').length > 3);
    expect(new Set(fake.of('heartbeat').map(({ heartbeat }) => heartbeat?.instanceId)).size).toBe(1);
  });

  it('sends a heartbeat before the first call of an idle gateway, in the same message', async () => {
    const { limiter, fake } = await start(PATIENT);
    fake.messages.length = 0;
    await limiter.admit(limiter.admissionHandle('org_1', 'a1'), admission);
    // On a slow machine, a heartbeat that probes the limiter may follow.
    expect(fake.calls.slice(0, 3).map(({ call }) => call)).toEqual(['heartbeat', 'heartbeat', 'admit']);
    expect(fake.messages[0]).toBe(2);
  });

  it('sends all calls of one event-loop turn as one message, and matches the replies', async () => {
    const { limiter, fake } = await start(PATIENT);
    // At rest, the first call would also send a heartbeat.
    limiter.admissionHandle('org_1', 'first');
    await eventually(() => fake.of('heartbeat').length > 1);
    fake.messages.length = 0;
    fake.answers.admit = ({ admit }) => ({
      admission: admit?.admissionId === 'a7' ? { planUpgradeRequired: {} } : admitted,
    });
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        limiter.admit(limiter.admissionHandle('org_1', `a${i}`), admission),
      ),
    );
    // On a slow machine, one of them may also hold a heartbeat that probes the limiter.
    expect([100, 101]).toContain(Math.max(...fake.messages));
    expect(answers).toEqual(answers.map((_, i) => (i === 7 ? PLAN_UPGRADE_REQUIRED : admitted.admitted)));
  });

  it('fails open calls immediately when it breaks, then reconnects and withdraws admissions of unknown outcome', async () => {
    const { limiter, fake, told } = await start({ callTimeoutMs: 60_000, heartbeatMs: 60_000 });
    fake.answers.admit = () => undefined;
    const open = limiter.admit(limiter.admissionHandle('org_1', 'a1'), admission);
    await eventually(() => fake.of('admit').length === 1);
    fake.stop();
    expect(await open).toBe(INTERNAL_ERROR);
    expect(told.down).toBe(1);
    expect(limiter.ready).toBe(false);
    expect(await limiter.admit(limiter.admissionHandle('org_1', 'a2'), admission)).toBe(INTERNAL_ERROR);
    await fake.start();
    await eventually(() => limiter.ready && limiter.unacknowledged === 0);
    expect(fake.of('withdraw').map(({ withdraw }) => withdraw?.admissionId)).toEqual(['a1']);
  });

  it('ignores an admission that arrives too late, for example after a standstill of the process', async () => {
    let stoodStillMs = 0;
    const nowMs = () => performance.now() + stoodStillMs;
    const { limiter, fake } = await start({ ...PATIENT, nowMs });
    fake.answers.admit = () => {
      stoodStillMs = PATIENT.callTimeoutMs;
      return { admission: admitted };
    };
    expect(await limiter.admit(limiter.admissionHandle('org_1', 'a1'), admission)).toBe(INTERNAL_ERROR);
    await eventually(() => fake.of('withdraw').length > 0);
  });

  it('undoes an admission that was not answered before the instance was given up', async () => {
    let aheadMs = 0;
    const nowMs = () => performance.now() + aheadMs;
    const cutOffMs = 3_600_000;
    const { limiter, fake, told } = await start({ nowMs, cutOffMs, callTimeoutMs: 2 * cutOffMs });
    Object.assign(fake.answers, { heartbeat: () => undefined, admit: () => undefined });
    const handle = limiter.admissionHandle('org_1', 'a1');
    const open = limiter.admit(handle, admission);
    await eventually(() => fake.of('admit').length === 1);
    aheadMs = cutOffMs;
    await eventually(() => told.lost.length > 0);
    expect(told.lost).toEqual([handle.instanceId]);
    fake.stop();
    expect(await open).toBe(INTERNAL_ERROR);
    fake.answers.heartbeat = () => ({ heartbeat: {} });
    await fake.start();
    await eventually(() => fake.of('withdraw').length === 1);
    expect(fake.of('withdraw')[0]?.withdraw).toMatchObject(sent(handle));
  });

  it('moves to another limiter when its own is gone', async () => {
    const [first, second] = [await new FakeLimiter().start(), await new FakeLimiter().start()];
    const { limiter } = await start({ peers: peersAt(first.address, second.address) }, first);
    running.push(second);
    expect(first.sessions).toBe(1);
    first.stop();
    await eventually(() => limiter.ready && second.sessions === 1);
  });

  it('moves when its limiter drains: calls in progress are finished there, new ones go elsewhere', async () => {
    const [first, second] = [await new FakeLimiter().start(), await new FakeLimiter().start()];
    const { limiter, told } = await start(
      { ...PATIENT, peers: peersAt(first.address, second.address) },
      first,
    );
    running.push(second);
    let reply = () => {};
    first.answers.admit = () =>
      new Promise((resolve) => {
        reply = () => resolve({ admission: admitted });
      });
    const open = limiter.admit(limiter.admissionHandle('org_1', 'a1'), admission);
    await eventually(() => first.of('admit').length === 1);
    first.notify({ draining: {} });
    let calls = 0;
    await eventually(async () => {
      const handle = limiter.admissionHandle('org_1', `b${calls++}`);
      if (second.sessions === 0) return false;
      const counted = limiter.countRequest('org_1', 'key_1');
      expect(await counted).toEqual(admitted.admitted);
      await limiter.withdraw(handle);
      return second.of('countRequest').length > 0;
    });
    expect(first.sessions).toBe(1);
    reply();
    expect(await open).toEqual(admitted.admitted);
    await eventually(() => first.sessions === 0);
    expect(limiter.ready).toBe(true);
    expect(told.down).toBe(0);
  });

  it('stays with the only limiter there is while it drains, and with a healthy one when others drain', async () => {
    const [first, second] = [await new FakeLimiter().start(), await new FakeLimiter().start()];
    second.draining = true;
    const { limiter, told } = await start({ peers: peersAt(first.address, second.address) }, first);
    running.push(second);
    first.notify({ draining: {} });
    await eventually(() => second.accepted > 1);
    expect(await limiter.countRequest('org_1', 'key_1')).toEqual(admitted.admitted);
    expect(second.of('countRequest')).toEqual([]);
    expect(told.down).toBe(0);
  });

  it('moves away from a limiter that cannot keep its lease to one that can, without a failed call', async () => {
    const [first, second] = [await new FakeLimiter().start(), await new FakeLimiter().start()];
    const { limiter, told } = await start({ peers: peersAt(first.address, second.address) }, first);
    running.push(second);
    first.answers.heartbeat = () => ({ failed: { reason: 'there is no connection' } });
    await eventually(() => first.sessions === 0);
    expect([limiter.ready, second.sessions, told.down]).toEqual([true, 1, 0]);
    await limiter.countRequest('org_1', 'key_1');
    expect(second.of('countRequest')).toHaveLength(1);
  });

  it('moves away from a limiter that cannot keep its lease even to one that will stop', async () => {
    const [first, second] = [await new FakeLimiter().start(), await new FakeLimiter().start()];
    second.draining = true;
    const { limiter, told } = await start({ peers: peersAt(first.address, second.address) }, first);
    running.push(second);
    first.answers.heartbeat = () => ({ failed: { reason: 'there is no connection' } });
    await eventually(() => first.sessions === 0);
    expect([limiter.ready, second.sessions, told.down]).toEqual([true, 1, 0]);
  });

  it('moves to a limiter that DNS names later, if it prefers that one, without a failed call', async () => {
    const [first, second] = [await new FakeLimiter().start(), await new FakeLimiter().start()];
    running.push(second);
    const { port } = new URL(`http://${first.address}`);
    let found = ['127.0.0.1'];
    const preferences = [0.2, 0.1, 0.3];
    const peers = new Peers({
      addresses: [`limiter:${port}`],
      resolve: async () => found,
      random: () => preferences.shift() ?? 0,
      nowMs: () => performance.now(),
    });
    const connect: RemoteLimiterOptions['connect'] = ({ address }) =>
      createLimiterClient(address === `127.0.0.3:${port}` ? second.address : first.address);
    const { limiter, told } = await start({ peers, connect }, first);
    expect(first.accepted).toBe(1);
    found = ['127.0.0.1', '127.0.0.2', '127.0.0.3'];
    await eventually(async () => {
      expect(await limiter.countRequest('org_1', 'key_1')).toEqual(admitted.admitted);
      return first.sessions === 0;
    });
    expect([first.accepted, second.sessions, told.down]).toEqual([1, 1, 0]);
    found = [];
    await limiter.countRequest('org_1', 'key_1');
    expect(second.of('countRequest').length).toBeGreaterThan(0);
  });

  it('waits while DNS has no address, and finds one once it has', async () => {
    const fake = await new FakeLimiter().start();
    const { port } = new URL(`http://${fake.address}`);
    let lookups = 0;
    const resolve = async () => {
      if (++lookups < 3) throw new Error('ENOTFOUND');
      return ['127.0.0.1'];
    };
    const nowMs = () => performance.now();
    const peers = new Peers({ addresses: [`limiter:${port}`], resolve, random: () => 0, nowMs });
    const { limiter } = await start({ peers }, fake);
    expect(limiter.ready).toBe(true);
    expect(lookups).toBeGreaterThan(2);
  });

  it('is given up when its limiter is silent', async () => {
    const { limiter, fake, told } = await start({ callTimeoutMs: 300 });
    const { heartbeat } = fake.answers;
    fake.answers.heartbeat = () => undefined;
    await eventually(() => told.down > 0);
    fake.answers.heartbeat = heartbeat;
    await eventually(() => limiter.ready);
  });

  it('moves to the next limiter in time when its limiter hangs', async () => {
    const [first, second] = [await new FakeLimiter().start(), await new FakeLimiter().start()];
    const peers = peersAt(first.address, second.address);
    // Silence is measured in ticks of this process's own timer. So even a slow start is not taken
    // for silence.
    const { limiter, told } = await start({ ...PATIENT, peers, callTimeoutMs: 3_000, silenceMs: 500 }, first);
    running.push(second);
    for (const kind of ['heartbeat', 'admit'] as const) first.answers[kind] = () => undefined;
    const hanging = limiter.admit(limiter.admissionHandle('org_1', 'a1'), admission);
    await eventually(() => second.sessions === 1 && told.down === 1);
    expect(await limiter.admit(limiter.admissionHandle('org_1', 'a2'), admission)).toEqual(admitted.admitted);
    expect(second.of('admit')).toHaveLength(1);
    expect(await hanging).toBe(INTERNAL_ERROR);
    // Anything the first limiter may have admitted is taken back through the second.
    await eventually(() => second.of('withdraw').some(({ withdraw }) => withdraw?.admissionId === 'a1'));
  });

  it('is kept while its limiter answers other calls, however long a single call takes', async () => {
    const { limiter, fake, told } = await start({ ...PATIENT, silenceMs: 400 });
    fake.answers.admit = () => undefined;
    const slow = limiter.admit(limiter.admissionHandle('org_1', 'a1'), admission);
    const asked = fake.of('heartbeat').length;
    await eventually(() => fake.of('heartbeat').length > asked + 10);
    expect(told.down).toBe(0);
    fake.answers.admit = () => ({ admission: admitted });
    expect(await limiter.admit(limiter.admissionHandle('org_1', 'a2'), admission)).toEqual(admitted.admitted);
    limiter.stop();
    expect(await slow).toBe(INTERNAL_ERROR);
  });

  it('is kept while its limiter shows that it lives, though Redis keeps all calls waiting', async () => {
    const { limiter, fake, told } = await start({ ...PATIENT, silenceMs: 400 });
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    fake.answers.admit = () => answered.then(() => ({ admission: admitted }));
    fake.answers.heartbeat = () => void fake.showLife();
    const waiting = limiter.admit(limiter.admissionHandle('org_1', 'a1'), admission);
    const asked = fake.of('heartbeat').length;
    await eventually(() => fake.of('heartbeat').length > asked + 10);
    answer();
    expect(await waiting).toEqual(admitted.admitted);
    expect(told.down).toBe(0);
  });

  it('allows more silence the more calls are open', async () => {
    const { limiter, fake, told } = await start({ ...PATIENT, silenceMs: 100, maxOpenCalls: 1_000 });
    fake.delayMs = 300;
    const admissions = Array.from({ length: 400 }, (_, i) =>
      limiter.admit(limiter.admissionHandle('org_1', `a${i}`), admission),
    );
    for (const answer of await Promise.all(admissions)) expect(answer).toEqual(admitted.admitted);
    expect(told.down).toBe(0);
  });

  it('is kept while its only limiter is silent, and no call fails', async () => {
    const { limiter, fake, told } = await start({ ...PATIENT, silenceMs: 50 });
    fake.delayMs = 500;
    expect(await limiter.admit(limiter.admissionHandle('org_1', 'a1'), admission)).toEqual(admitted.admitted);
    expect(told.down).toBe(0);
  });

  /** A call at a limiter that is silent until `answer` is called, beside a second limiter. */
  async function silentBeside(second: FakeLimiter) {
    const first = await new FakeLimiter().start();
    const peers = peersAt(first.address, second.address);
    const { limiter, told } = await start({ ...PATIENT, peers, silenceMs: 50 }, first);
    running.push(second);
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    first.answers.heartbeat = () => undefined;
    first.answers.admit = () => answered.then(() => ({ admission: admitted }));
    const waiting = limiter.admit(limiter.admissionHandle('org_1', 'a1'), admission);
    return { told, answer, waiting };
  }

  it('fails no call of a silent limiter that goes on after the session has moved away from it', async () => {
    const second = await new FakeLimiter().start();
    const { told, answer, waiting } = await silentBeside(second);
    await eventually(() => second.sessions === 1 && told.down === 1);
    answer();
    expect(await waiting).toEqual(admitted.admitted);
  });

  it('is kept while its limiter is silent and the others are, too', async () => {
    const second = await new FakeLimiter().start();
    second.answers.heartbeat = () => undefined;
    const { told, answer, waiting } = await silentBeside(second);
    await eventually(() => second.of('heartbeat').length > 1);
    answer();
    expect(await waiting).toEqual(admitted.admitted);
    expect(told.down).toBe(0);
  });

  it('is given up when its only limiter has been silent for as long as a call may take', async () => {
    const { limiter, fake, told } = await start({ ...PATIENT, callTimeoutMs: 400, silenceMs: 100 });
    const { heartbeat } = fake.answers;
    fake.answers.heartbeat = fake.answers.admit = () => undefined;
    expect(await limiter.admit(limiter.admissionHandle('org_1', 'a1'), admission)).toBe(INTERNAL_ERROR);
    await eventually(() => told.down === 1);
    fake.answers.heartbeat = heartbeat;
    await eventually(() => limiter.ready);
  });

  it('fails a call in time when its limiter says that it cannot reach Redis', async () => {
    const { limiter, fake } = await start({ ...PATIENT, callTimeoutMs: 400, silenceMs: 150 });
    fake.answers.admit = () => undefined;
    fake.answers.heartbeat = () => ({ failed: { reason: 'Redis is unavailable' } });
    expect(await limiter.admit(limiter.admissionHandle('org_1', 'a1'), admission)).toBe(INTERNAL_ERROR);
  });

  it('eventually reaches a limiter that is slower than the silence limit', async () => {
    const fake = await new FakeLimiter().start();
    const starting = start({ ...PATIENT, silenceMs: 50, reconnectMs: 1 }, fake);
    fake.delayMs = 300;
    const { limiter } = await starting;
    expect(limiter.ready).toBe(true);
    expect(fake.of('heartbeat').length).toBeGreaterThan(1);
  });

  it('delivers notices', async () => {
    const { fake, told } = await start();
    fake.notify({ keyRevoked: { keyId: 'key_9' } });
    await eventually(() => told.notices.length === 1);
    expect(told.notices[0]?.keyRevoked).toEqual({ keyId: 'key_9' });
  });

  it('accepts no more calls than its bound', async () => {
    const { limiter, fake } = await start({ ...PATIENT, maxOpenCalls: 3 });
    fake.answers.countRequest = () => undefined;
    const calls = Array.from({ length: 5 }, () => limiter.countRequest('org_1', 'key_1'));
    expect(await Promise.all(calls.slice(3))).toEqual(Array(2).fill(INTERNAL_ERROR));
    await eventually(() => fake.of('countRequest').length >= 3);
    limiter.stop();
    expect(await Promise.all(calls)).toEqual(Array(5).fill(INTERNAL_ERROR));
    expect(fake.of('countRequest')).toHaveLength(3);
  });

  it('keeps its lease even while it accepts no more calls', async () => {
    const { limiter, fake, told } = await start({ maxOpenCalls: 3 });
    fake.answers.countRequest = () => undefined;
    for (let i = 0; i < 3; i++) void limiter.countRequest('org_1', 'key_1');
    const before = fake.of('heartbeat').length;
    await eventually(() => fake.of('heartbeat').length > before + 3);
    expect(told.down).toBe(0);
  });
});

const restored = (fake: FakeLimiter) => fake.of('restore').map(({ restore }) => restore);

/** The part of a handle that the limiter gets. */
const sent = ({ orgId, instanceId, admissionId }: AdmissionHandle) => ({ orgId, instanceId, admissionId });

const isDone = (limiter: RemoteLimiter) => limiter.unacknowledged === 0 && !limiter.restoring;

describe('state that the limiter has lost', () => {
  const forgottenOnce = (fake: FakeLimiter) => {
    fake.answers.heartbeat = ({ heartbeat }) => ({
      heartbeat: { leaseUnknown: heartbeat?.registered ?? false },
    });
  };
  it('is restored: open grants, recent settlements, and nothing else', async () => {
    const { limiter, fake, told } = await start({ heartbeatMs: 60_000 });
    const [open, prepared, settled, withdrawn, large] = ['a', 'b', 'c', 'd', 'e'].map((id) =>
      limiter.admissionHandle('org_1', id),
    );
    if (!open || !prepared || !settled || !withdrawn || !large) throw new Error('five were held');
    await limiter.admit(open, admission);
    await limiter.admit(prepared, { ...admission, reserve: false });
    await limiter.reserve(prepared);
    await limiter.admit(settled, { ...admission, streamed: true });
    await limiter.settle(settled, settlement);
    await limiter.admit(withdrawn, admission);
    await limiter.withdraw(withdrawn);
    await limiter.takeLargeBody(large);
    fake.notify({ orgStateLost: { orgId: 'org_2' } });
    await eventually(() => told.notices.length === 1);
    fake.calls.length = 0;
    fake.notify({ orgStateLost: { orgId: 'org_1' } });

    await eventually(() => restored(fake).length === 3 && isDone(limiter));
    const what = {
      orgId: 'org_1',
      keyId: 'key_1',
      modelId: 'mdl_1',
      contextTokens: 10,
      admittedAtMs: 1,
      reservedAtMs: 1,
      streamed: false,
      settle: null,
    };
    expect(restored(fake)).toEqual([
      { ...what, ...sent(open) },
      { ...what, ...sent(prepared) },
      { ...what, ...sent(settled), streamed: true, settle: { ...sent(settled), ...settlement } },
    ]);
    expect(fake.of('settle')).toEqual([]);
    expect(fake.of('takeLargeBody').map(({ takeLargeBody }) => takeLargeBody)).toEqual([
      { ...sent(large), restore: true },
    ]);
  });

  it('is restored while requests go on, even if it is far more than may be unacknowledged', async () => {
    const { limiter, fake } = await start({ heartbeatMs: 60_000, maxUnacknowledged: 100 });
    const handles = Array.from({ length: 300 }, (_, i) => limiter.admissionHandle('org_1', `a${i}`));
    await Promise.all(handles.map((handle) => limiter.admit(handle, admission)));
    await Promise.all(handles.slice(0, 50).map((handle) => limiter.settle(handle, settlement)));
    fake.answers.restore = () => undefined;
    fake.notify({ orgStateLost: { orgId: 'org_1' } });
    await eventually(() => restored(fake).length === 300);
    expect([limiter.restoring, limiter.ready, limiter.unacknowledged]).toEqual([true, true, 0]);
    expect(await limiter.admit(limiter.admissionHandle('org_2', 'b'), admission)).toEqual(admitted.admitted);
  });

  it('and settled during the restore is settled again after it', async () => {
    const { limiter, fake } = await start({ heartbeatMs: 60_000 });
    const handle = limiter.admissionHandle('org_1', 'a');
    await limiter.admit(handle, admission);
    let unavailable = true;
    fake.answers.restore = () =>
      unavailable ? { failed: { reason: 'Redis is unavailable' } } : { restore: {} };
    fake.notify({ orgStateLost: { orgId: 'org_1' } });
    await eventually(() => restored(fake).length > 0);
    await limiter.settle(handle, settlement);
    await eventually(() => limiter.unacknowledged === 0);
    expect(fake.of('settle')).toHaveLength(1);
    unavailable = false;
    await eventually(() => fake.of('settle').length === 2 && isDone(limiter));
    expect(fake.requestCalls.slice(-2)).toEqual(['restore', 'settle']);
    expect(fake.of('settle').at(-1)?.settle).toMatchObject({ ...sent(handle), ...settlement });
  });

  it('and ended before it could be restored is ended again after the restore, however late that is', async () => {
    let aheadMs = 0;
    const nowMs = () => performance.now() + aheadMs;
    const { limiter, fake } = await start({ callTimeoutMs: 60_000, nowMs });
    const [settled, withdrawn, large] = ['a', 'b', 'c'].map((id) => limiter.admissionHandle('org_1', id));
    if (!settled || !withdrawn || !large) throw new Error('three were held');
    await limiter.admit(settled, admission);
    await limiter.admit(withdrawn, admission);
    await limiter.takeLargeBody(large);
    let unavailable = true;
    const failed = { failed: { reason: 'Postgres is unavailable' } };
    fake.answers.restore = () => (unavailable ? failed : { restore: {} });
    fake.answers.takeLargeBody = () => (unavailable ? failed : { takeLargeBody: { result: 'RESULT_TAKEN' } });
    fake.notify({ orgStateLost: { orgId: 'org_1' } });
    await eventually(() => restored(fake).length >= 2);
    await limiter.settle(settled, settlement);
    await limiter.withdraw(withdrawn);
    await limiter.releaseLargeBody(large);
    aheadMs = 3_600_000;
    const beats = fake.of('heartbeat').length;
    await eventually(() => fake.of('heartbeat').length > beats + 1);
    fake.calls.length = 0;
    unavailable = false;
    await eventually(() => fake.of('restore').length === 2 && isDone(limiter));
    const endings = fake.calls.flatMap(({ settle, withdraw, releaseLargeBody }) => {
      const end = settle ?? withdraw ?? releaseLargeBody;
      return end ? [end.admissionId] : [];
    });
    expect(endings.sort()).toEqual(['a', 'b', 'c']);
  });

  it('together with the lease is restored under the same instance, until the limiter acknowledges it', async () => {
    const { limiter, fake, told } = await start();
    const handle = limiter.admissionHandle('org_1', 'a');
    await limiter.admit(handle, admission);
    let deaf = true;
    fake.answers.restore = () =>
      deaf ? { failed: { reason: 'an instance has no lease' } } : { restore: {} };
    forgottenOnce(fake);
    await eventually(() => restored(fake).length > 1);
    fake.answers.heartbeat = () => ({ heartbeat: {} });
    deaf = false;
    await eventually(() => isDone(limiter));
    expect(limiter.admissionHandle('org_1', 'b').instanceId).toBe(handle.instanceId);
    expect(told.lost).toEqual([]);
  });

  it('and no longer restores is given up with the instance, and what the instance settled is still sent', async () => {
    const { limiter, fake, told } = await start();
    const handle = limiter.admissionHandle('org_1', 'a');
    const settled = limiter.admissionHandle('org_2', 'b');
    for (const each of [handle, settled]) await limiter.admit(each, admission);
    const { settle } = fake.answers;
    fake.answers.settle = () => ({ failed: { reason: 'not now' } });
    void limiter.settle(settled, settlement);
    await eventually(() => fake.of('settle').length > 0);
    fake.answers.restore = () => ({ restore: { leaseLost: true } });
    fake.notify({ orgStateLost: { orgId: 'org_1' } });
    await eventually(() => told.lost.length === 1);
    expect(told.lost).toEqual([handle.instanceId]);
    expect(limiter.unacknowledged).toBeGreaterThan(0);
    fake.answers.settle = settle;
    await eventually(() => limiter.ready && isDone(limiter));
  });

  it('is restored without settlements from long ago', async () => {
    let aheadMs = 0;
    const nowMs = () => performance.now() + aheadMs;
    const { limiter, fake, told } = await start({ nowMs, callTimeoutMs: 60_000 });
    const handle = limiter.admissionHandle('org_1', 'a');
    await limiter.admit(handle, admission);
    await limiter.settle(handle, settlement);
    // From then on it is remembered for 30 s.
    await eventually(() => limiter.unacknowledged === 0);
    aheadMs = 30_000;
    const beats = fake.of('heartbeat').length;
    await eventually(() => fake.of('heartbeat').length > beats + 1);
    fake.notify({ orgStateLost: { orgId: 'org_1' } });
    await eventually(() => told.notices.length === 1);
    expect(restored(fake)).toEqual([]);
  });
});

describe('a lost lease', () => {
  it('ends the instance, drops its open calls, and registers a new one', async () => {
    const { limiter, fake, told } = await start();
    const old = limiter.admissionHandle('org_1', 'a1');
    fake.answers.settle = () => undefined;
    const settled = limiter.settle(old, settlement);
    fake.answers.heartbeat = ({ heartbeat }) => ({
      heartbeat: { leaseLost: heartbeat?.instanceId === old.instanceId },
    });
    await eventually(() => told.lost.length > 0);
    await settled;
    expect(told.lost).toEqual([old.instanceId]);
    expect(limiter.unacknowledged).toBe(0);
    const { instanceId } = limiter.admissionHandle('org_1', 'a2');
    expect(instanceId).not.toBe(old.instanceId);
    await eventually(() =>
      fake.of('heartbeat').some(({ heartbeat }) => heartbeat?.instanceId === instanceId),
    );
    expect(limiter.ready).toBe(true);
  });

  it('voids grants to the old instance that arrive afterwards', async () => {
    const { limiter, fake, told } = await start({ ...PATIENT, heartbeatMs: 50 });
    const reply = { admit: () => {}, takeLargeBody: () => {} };
    fake.answers.admit = () =>
      new Promise((resolve) => {
        reply.admit = () => resolve({ admission: admitted });
      });
    fake.answers.takeLargeBody = () =>
      new Promise((resolve) => {
        reply.takeLargeBody = () => resolve({ takeLargeBody: { result: 'RESULT_TAKEN' } });
      });
    const old = limiter.admissionHandle('org_1', 'a1');
    const granted = Promise.all([limiter.admit(old, admission), limiter.takeLargeBody(old)]);
    await eventually(() => fake.of('admit').length + fake.of('takeLargeBody').length === 2);
    fake.answers.heartbeat = ({ heartbeat }) => ({
      heartbeat: { leaseLost: heartbeat?.instanceId === old.instanceId },
    });
    await eventually(() => told.lost.length === 1);
    reply.admit();
    reply.takeLargeBody();
    expect(await granted).toEqual([INTERNAL_ERROR, INTERNAL_ERROR]);

    fake.answers.takeLargeBody = () => ({ takeLargeBody: { result: 'RESULT_TAKEN' } });
    await limiter.takeLargeBody(limiter.admissionHandle('org_1', 'a2'));
    fake.calls.length = 0;
    fake.notify({ orgStateLost: { orgId: 'org_1' } });
    await eventually(() => fake.of('takeLargeBody').length === 1);
    expect(fake.of('takeLargeBody')[0]?.takeLargeBody?.admissionId).toBe('a2');
    expect(restored(fake)).toEqual([]);
  });

  it('is assumed when no limiter has answered for almost as long: requests end, and settlements are still sent', async () => {
    let aheadMs = 0;
    const nowMs = () => performance.now() + aheadMs;
    const { limiter, fake, told } = await start({ nowMs, cutOffMs: 20_000, callTimeoutMs: 3_600_000 });
    const [open, settled] = ['a', 'b'].map((id) => limiter.admissionHandle('org_1', id));
    if (!open || !settled) throw new Error('two were held');
    await limiter.admit(open, admission);
    await limiter.admit(settled, admission);
    fake.answers.settle = () => ({ failed: { reason: 'Redis is unavailable' } });
    await limiter.settle(settled, settlement);
    fake.stop();
    aheadMs = 20_000;
    await eventually(() => told.lost.length > 0);
    expect(told.lost).toEqual([open.instanceId]);
    fake.calls.length = 0;
    fake.answers.settle = () => ({ settle: {} });
    await fake.start();
    await eventually(() => limiter.ready && limiter.unacknowledged === 0);
    expect(fake.of('heartbeat')[0]?.heartbeat).toEqual({
      instanceId: limiter.admissionHandle('org_1', 'c').instanceId,
      registered: false,
    });
    expect(fake.of('settle').map(({ settle }) => settle)).toMatchObject([sent(settled)]);
    fake.notify({ orgStateLost: { orgId: 'org_1' } });
    await eventually(() => restored(fake).length > 0);
    expect(restored(fake)).toMatchObject([{ ...sent(settled), settle: settlement }]);
    expect(told.lost).toEqual([open.instanceId]);
  });

  it('is noticed when the first admission is refused for it', async () => {
    const { limiter, fake, told } = await start({ heartbeatMs: 60_000 });
    const handle = limiter.admissionHandle('org_1', 'a1');
    // The instance was at rest, so a heartbeat precedes the first thing it holds.
    await eventually(() => fake.of('heartbeat').length > 1);
    fake.answers.admit = () => ({ admission: { leaseLost: {} } });
    fake.answers.heartbeat = ({ heartbeat }) => ({
      heartbeat: { leaseLost: heartbeat?.instanceId === handle.instanceId },
    });
    expect(await limiter.admit(handle, admission)).toBe(INTERNAL_ERROR);
    await eventually(() => told.lost.length === 1);
  });
});

describe('a rehearsed reservation', () => {
  it('asks the limiter to reserve for an organization that does not exist, and leaves nothing to undo', async () => {
    const { limiter, fake, told } = await start(PATIENT);
    fake.answers.reserve = () => ({ admission: { admitted: { decidedAtMs: 1, window: null } } });
    await limiter.rehearseReserve();
    expect(fake.of('reserve').map(({ reserve }) => reserve)).toMatchObject([
      { orgId: 'rehearsal', admissionId: expect.stringMatching(/^rehearsal-{15}$/) },
    ]);
    expect([told.lost, limiter.unacknowledged]).toEqual([[], 0]);
  });
});

describe('a call that has certainly not run', () => {
  it('needs no withdrawal', async () => {
    const { limiter, fake } = await start();
    const failed = { failed: { reason: 'its server is unavailable', notRun: true } };
    fake.answers.admit = () => failed;
    fake.answers.takeLargeBody = () => failed;
    const handle = limiter.admissionHandle('org_1', 'a1');
    expect(await limiter.admit(handle, admission)).toBe(INTERNAL_ERROR);
    expect(await limiter.takeLargeBody(handle)).toBe(INTERNAL_ERROR);
    expect(limiter.unacknowledged).toBe(0);
  });
});

describe('a settlement', () => {
  it('is sent again, however many others fail before it', async () => {
    const { limiter, fake } = await start();
    const failed = { failed: { reason: 'a master is unavailable' } };
    let unavailable = true;
    const of = (orgId: string) => (unavailable || orgId === 'org_away' ? failed : { settle: {} });
    fake.answers.settle = ({ settle }) => of(settle?.orgId ?? '');
    for (let i = 0; i < 1_100; i++)
      void limiter.settle(limiter.admissionHandle('org_away', `x${i}`), settlement);
    void limiter.settle(limiter.admissionHandle('org_1', 'a1'), settlement);
    await eventually(() => fake.of('settle').length >= 1_101);
    unavailable = false;
    await eventually(() => limiter.unacknowledged === 1_100);
    expect(fake.calls.findLast(({ settle }) => settle?.orgId === 'org_1')?.settle?.admissionId).toBe('a1');
  });

  it('is sent again until it is acknowledged, even over the next session', async () => {
    const { limiter, fake } = await start();
    fake.answers.settle = () => ({ failed: { reason: 'Redis is unavailable' } });
    await limiter.settle(limiter.admissionHandle('org_1', 'a1'), settlement);
    expect(limiter.unacknowledged).toBe(1);
    await eventually(() => fake.of('settle').length > 0);
    fake.stop();
    fake.answers.settle = () => ({ settle: {} });
    await fake.start();
    await eventually(() => limiter.unacknowledged === 0);
    const sent = fake.of('settle').map(({ settle }) => settle);
    expect(sent.length).toBeGreaterThan(1);
    expect(new Set(sent.map((settle) => JSON.stringify(settle))).size).toBe(1);
  });

  it('beyond the bound of unacknowledged ones gets new requests refused instead of piling up', async () => {
    const { limiter, fake } = await start({ maxUnacknowledged: 2 });
    fake.answers.settle = () => ({ failed: { reason: 'Redis is unavailable' } });
    await Promise.all(
      ['a', 'b', 'c'].map((id) => limiter.settle(limiter.admissionHandle('org_1', id), settlement)),
    );
    expect(limiter.ready).toBe(false);
    expect(await limiter.admit(limiter.admissionHandle('org_1', 'd'), admission)).toBe(INTERNAL_ERROR);
    fake.answers.settle = () => ({ settle: {} });
    expect(await limiter.flush({ timeoutMs: 60_000, noSessionMs: 60_000 })).toBe(true);
    expect(limiter.ready).toBe(true);
  });

  describe('at shutdown', () => {
    const HOUR_MS = 3_600_000;

    it('is waited for while a limiter keeps the session but cannot reach Redis', async () => {
      let nowMs = 0;
      const { limiter, fake } = await start({ ...PATIENT, nowMs: () => nowMs });
      fake.answers.settle = () => ({ failed: { reason: 'Redis is unavailable' } });
      await limiter.settle(limiter.admissionHandle('org_1', 'a1'), settlement);
      const flushed = limiter.flush({ timeoutMs: HOUR_MS, noSessionMs: 10 });
      for (let i = 0; i < 5; i++) {
        nowMs += 100;
        const tries = fake.of('settle').length;
        await eventually(() => fake.of('settle').length > tries + 1);
      }
      fake.answers.settle = () => ({ settle: {} });
      expect(await flushed).toBe(true);
    });

    it.each([
      ['the time for the shutdown', false, { timeoutMs: 30, noSessionMs: HOUR_MS }],
      ['the wait for a limiter', true, { timeoutMs: HOUR_MS, noSessionMs: 30 }],
    ])('is given up at the end of %s', async (_how, alone, limits) => {
      const { limiter, fake } = await start();
      fake.answers.settle = () => ({ failed: { reason: 'Redis is unavailable' } });
      await limiter.settle(limiter.admissionHandle('org_1', 'a1'), settlement);
      if (alone) fake.stop();
      expect(await limiter.flush(limits)).toBe(false);
      expect(limiter.unacknowledged).toBe(1);
    });
  });
});
