import { describe, expect, it } from '@jest/globals';
import { createLogger, createMetrics } from '@tidegate/runtime';
import { eventually } from '@tidegate/testing';
import { CatalogSource } from '../catalog/catalog.ts';
import { ConditionWriter } from '../catalog/condition-writer.ts';
import type { ModelSpec } from '../catalog/spec.ts';
import type { Driver, DriverReport, IsTaken } from '../drivers/driver.ts';
import { createRunnerMetrics } from '../metrics.ts';
import { type Occupant, Room } from '../room/room.ts';
import { A_MODEL } from '../testing/model-spec.ts';
import { Gateways } from '../watch/gateways.ts';
import { Supervisor } from './supervisor.ts';
import { FLEET_TIMINGS } from './timings.ts';

/** A model that is up immediately, and whose end fails a given number of times. */
class Stuck implements Driver {
  readonly did: string[] = [];
  failures: number;
  report: (report: DriverReport) => void = () => {};

  constructor(failures: number) {
    this.failures = failures;
  }

  async leftBehind(): Promise<'nothing'> {
    return 'nothing';
  }

  launch(): void {
    this.did.push('launch');
    this.report({ type: 'up', replicas: [{ id: '1', baseUrl: 'http://127.0.0.1:1/v1' }] });
  }

  async halt(isTaken?: IsTaken): Promise<void> {
    this.did.push('halt');
    if (await isTaken?.()) return;
    if (this.failures-- > 0) throw new Error('it still runs');
  }

  async release(): Promise<void> {}
  async forget(): Promise<void> {
    this.did.push('forget');
  }
}

const SPEC: ModelSpec = { ...A_MODEL, mode: 'always_on' };

/** Two models fit. */
function fullRoom(): Room {
  const room = new Room({ patienceMs: 0, maxFirstMs: 0 });
  room.resize(2, 0);
  return room;
}

/** Another model of a pool. */
class Neighbour implements Occupant {
  readonly orgId = 'org_2';
  readonly alwaysOn = false;
  readonly pinned = false;
  readonly leaving = false;
  readonly lastUsedMs = 0;
  did: string[] = [];

  constructor(
    readonly modelId: string,
    readonly cost: number,
    readonly yields: boolean,
  ) {}

  granted(): void {
    this.did.push('granted');
  }
  refused(): void {
    this.did.push('refused');
  }
  giveWay(): void {
    this.did.push('gives way');
  }
}

function gatewaysOfNone(): Gateways {
  const gateways = new Gateways({ nowMs: () => 0, absentGraceMs: 0, onUse: () => {} });
  gateways.open();
  return gateways;
}

const supervise = (driver: Stuck, spec: ModelSpec = SPEC, room = fullRoom(), monotonicMs = () => 0) => {
  const lines: string[] = [];
  const logger = createLogger({
    service: 'runner',
    level: 'error',
    destination: { write: (line) => lines.push(line) },
  });
  const supervisor = new Supervisor(spec, {
    catalog: new CatalogSource(0),
    nowMs: () => 0,
    monotonicMs,
    logger,
    metrics: createRunnerMetrics(createMetrics('runner')),
    room,
    gateways: gatewaysOfNone(),
    writer: new ConditionWriter({ writeCondition: async () => {} }, logger),
    timings: { ...FLEET_TIMINGS, minimumStayMs: 0, backoffFactor: 0.001 },
    createDriver: (_spec, report) => {
      driver.report = report;
      return driver;
    },
  });
  return { supervisor, lines };
};

describe('a model that cannot be ended', () => {
  it('is told again to end, with a log line each time, and starts only once it has ended', async () => {
    const driver = new Stuck(3);
    const { supervisor, lines } = supervise(driver);
    supervisor.begin({ condition: 'running', reason: '', atMs: 0 }, await supervisor.look(0));
    supervisor.dispatch({ type: 'stop' });
    supervisor.dispatch({ type: 'start' });
    expect(supervisor.condition).toBe('starting');
    await eventually(() => supervisor.condition === 'running');
    expect(driver.did).toEqual(['launch', 'halt', 'halt', 'halt', 'halt', 'launch']);
    expect(lines.map((line) => JSON.parse(line).err.message)).toEqual(Array(3).fill('it still runs'));
    await supervisor.release(false);
  });

  it("does not delay its runner's shutdown, and is left alone after it", async () => {
    const driver = new Stuck(Number.POSITIVE_INFINITY);
    const { supervisor } = supervise(driver);
    supervisor.begin({ condition: 'running', reason: '', atMs: 0 }, await supervisor.look(0));
    supervisor.dispatch({ type: 'stop' });
    await eventually(() => driver.did.length > 2);
    await supervisor.release(true);
    const { length } = driver.did;
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(driver.did).toHaveLength(length);
  });
});

describe('a model that an owner starts in a full pool', () => {
  it('waits as long for an idle model to leave as if it had just been used itself, however long ago that was', async () => {
    const room = fullRoom();
    const idle = new Neighbour('mdl_2', 2, true);
    room.hold(idle);
    let nowMs = 0;
    const waking: ModelSpec = { ...SPEC, mode: 'wake_on_request', cost: 1 };
    const { supervisor } = supervise(new Stuck(0), waking, room, () => nowMs);
    supervisor.begin({ condition: 'stopped', reason: '', atMs: 0 }, await supervisor.look(0));
    nowMs = 3_600_000;
    supervisor.dispatch({ type: 'start' });
    nowMs += FLEET_TIMINGS.room.maxFirstMs - 1;
    supervisor.sleepIfIdle();
    expect([supervisor.condition, idle.did]).toEqual(['starting', ['gives way']]);
    nowMs += 1;
    supervisor.sleepIfIdle();
    expect(supervisor.condition).toBe('asleep');
    await supervisor.release(false);
  });
});

describe('a deleted model that cannot be ended', () => {
  const waking: ModelSpec = { ...SPEC, mode: 'wake_on_request', cost: 1 };

  /** It runs beside an idle model in a room that is full, and is deleted. */
  async function deleted(driver: Stuck) {
    const room = fullRoom();
    const idle = new Neighbour('mdl_2', 1, true);
    const { supervisor, lines } = supervise(driver, waking, room);
    supervisor.begin({ condition: 'asleep', reason: '', atMs: 0 }, await supervisor.look(0));
    supervisor.dispatch({ type: 'start' });
    room.ask(idle, 0);
    const ending = new AbortController();
    const taken = { now: false };
    const removed = supervisor.remove(ending.signal, async () => taken.now);
    return { room, idle, lines, ending, taken, removed };
  }

  it('is told again to end, keeps its room until it has ended, and is not asked to give way', async () => {
    const driver = new Stuck(3);
    const { room, idle, removed } = await deleted(driver);
    const next = new Neighbour('mdl_3', 1, false);
    room.ask(next, 0);
    expect([idle.did, next.did]).toEqual([['granted'], []]);
    await removed;
    expect([idle.did, next.did]).toEqual([['granted'], ['granted']]);
    expect(driver.did.filter((what) => what === 'halt')).toHaveLength(4);
    expect(driver.did.at(-1)).toBe('forget');
  });

  it('is given up in the end together with its room, and what it left is kept for the next runner', async () => {
    const driver = new Stuck(Number.POSITIVE_INFINITY);
    const { room, removed, lines } = await deleted(driver);
    const next = new Neighbour('mdl_3', 1, false);
    room.ask(next, 0);
    await removed;
    expect(next.did).toEqual(['granted']);
    expect(driver.did).not.toContain('forget');
    expect(lines.at(-1)).toContain('giving up');
  });

  it('gives back its room once another model has its workload', async () => {
    const driver = new Stuck(Number.POSITIVE_INFINITY);
    const { room, taken, removed } = await deleted(driver);
    const next = new Neighbour('mdl_3', 1, false);
    room.ask(next, 0);
    taken.now = true;
    await removed;
    expect(next.did).toEqual(['granted']);
    expect(driver.did.filter((what) => what === 'halt')).toHaveLength(2);
  });

  it("does not delay its runner's end", async () => {
    const driver = new Stuck(Number.POSITIVE_INFINITY);
    const { ending, removed } = await deleted(driver);
    ending.abort();
    await removed;
    expect(driver.did.filter((what) => what === 'halt')).toHaveLength(1);
  });
});
