import { describe, expect, it } from '@jest/globals';
import type { Condition } from '@tidegate/contracts';
import { createLogger, createMetrics } from '@tidegate/runtime';
import { eventually } from '@tidegate/testing';
import fc from 'fast-check';
import { CatalogSource } from '../catalog/catalog.ts';
import { ConditionWriter } from '../catalog/condition-writer.ts';
import type { ModelSpec } from '../catalog/spec.ts';
import type { Driver, DriverReport, LeftBehind } from '../drivers/driver.ts';
import { createRunnerMetrics } from '../metrics.ts';
import { A_MODEL } from '../testing/model-spec.ts';
import { Gateways } from '../watch/gateways.ts';
import { Fleet } from './fleet.ts';
import { FLEET_TIMINGS } from './timings.ts';

const CAPACITY = 4;
/** Only the calls of a test make anything happen. */
const NEVER_MS = 3_600_000;

const models = fc.array(
  fc.record({
    cost: fc.integer({ min: 1, max: CAPACITY }),
    mode: fc.constantFrom('always_on' as const, 'wake_on_request' as const),
    /** Whether an earlier runner has left it running. */
    runs: fc.boolean(),
    /** Whether an owner has stopped it. */
    stopped: fc.boolean(),
    turnsToLook: fc.nat(4),
    /** The takeover learns too late whether it runs. */
    late: fc.boolean(),
    /** Whether Postgres has it as running, if it wakes on request. */
    seenRunning: fc.boolean(),
    failedEnds: fc.nat(3),
  }),
  { minLength: 2, maxLength: 5 },
);
type Shape = typeof models extends fc.Arbitrary<readonly (infer T)[]> ? T : never;

/** Which models run, whoever started them. */
class Machine {
  /** Costs of what runs, by model. */
  readonly #running = new Map<string, number>();
  /** The time limit of each look for what runs. */
  readonly looked: number[] = [];
  /** The most that ran at the same time. */
  most = 0;

  run(modelId: string, cost: number): void {
    this.#running.set(modelId, cost);
    this.most = Math.max(this.most, this.used);
  }

  end(modelId: string): void {
    this.#running.delete(modelId);
  }

  runs(modelId: string): boolean {
    return this.#running.has(modelId);
  }

  get used(): number {
    return [...this.#running.values()].reduce((sum, cost) => sum + cost, 0);
  }
}

const turn = () => new Promise(setImmediate);

/** Is up as soon as it is launched. Its end may take several attempts. */
class FakeDriver implements Driver {
  constructor(
    readonly machine: Machine,
    readonly spec: ModelSpec,
    readonly shape: Pick<Shape, 'turnsToLook' | 'late' | 'failedEnds'> & { readonly complains?: boolean },
    readonly report: (report: DriverReport) => void,
  ) {}

  async leftBehind(withinMs: number): Promise<LeftBehind> {
    this.machine.looked.push(withinMs);
    if (this.shape.late) return 'unknown';
    for (let i = 0; i < this.shape.turnsToLook; i++) await turn();
    return this.machine.runs(this.spec.modelId) ? 'process' : 'nothing';
  }

  launch(): void {
    this.machine.run(this.spec.modelId, this.spec.cost);
    this.report({ type: 'up', replicas: [{ id: '1', baseUrl: 'http://127.0.0.1:1/v1' }] });
  }

  async find(): Promise<void> {
    if (this.shape.complains) this.report({ type: 'down', reason: 'No answer.', watching: true });
    for (let i = 0; i < this.shape.turnsToLook; i++) await turn();
    if (this.machine.runs(this.spec.modelId)) this.launch();
    else this.report({ type: 'off' });
  }

  async halt(): Promise<void> {
    await turn();
    if (this.shape.failedEnds-- > 0) throw new Error('it still runs');
    this.machine.end(this.spec.modelId);
  }

  async release(): Promise<void> {}
  async forget(): Promise<void> {}
}

const specOf = ({ cost, mode }: Shape, i: number): ModelSpec => ({
  ...A_MODEL,
  modelId: `mdl_${i}`,
  name: `m${i}`,
  mode,
  sleepAfterMs: NEVER_MS,
  cost,
  driver: {
    driver: 'kubernetes',
    settings: {
      namespace: 'gpu',
      kind: 'deployment',
      name: `m${i}`,
      service: `m${i}`,
      replicas: 1,
      startTimeoutS: 1,
    },
  },
});

/** A fleet of models, some of which run already, with what the tests look at. */
function fleetOf(
  shapes: readonly Shape[],
  {
    clearStrays = async () => {},
    endWorkload = async () => {},
    leftBehind = 0,
  }: { clearStrays?: () => Promise<void>; endWorkload?: () => Promise<void>; leftBehind?: number } = {},
) {
  const machine = new Machine();
  const rows = new Map(shapes.map((shape, i) => [`mdl_${i}`, specOf(shape, i)]));
  const left = new Map(shapes.map((shape, i) => [`mdl_${i}`, { ...shape }]));
  // What runs at a takeover fits: an earlier runner has seen to that.
  for (const [modelId, { runs, cost }] of left)
    if (runs && machine.used + cost <= CAPACITY) machine.run(modelId, cost);
  const stored = (spec: ModelSpec) => {
    const { stopped = false, seenRunning = false } = left.get(spec.modelId) ?? {};
    const asleep: Condition = seenRunning ? 'running' : 'asleep';
    const idle: Condition = spec.mode === 'always_on' ? 'starting' : asleep;
    const condition: Condition = stopped ? 'stopped' : idle;
    return { spec, persisted: { condition, reason: '', atMs: 0 } };
  };
  let nowMs = 0;
  const logger = createLogger({ service: 'runner', level: 'silent' });
  const gateways = new Gateways({ nowMs: () => nowMs, absentGraceMs: 0, onUse: () => {} });
  gateways.open();
  const fleet = new Fleet({
    store: {
      versions: async () => new Map([...rows].map(([modelId, { version }]) => [modelId, version])),
      capacity: async () => CAPACITY,
      some: async (ids) => ids.flatMap((id) => rows.get(id) ?? []).map(stored),
      writeCondition: async () => {},
      leftAfter: async (modelId) =>
        Array.from({ length: leftBehind }, (_, i) => `mdl_left${i}`).filter((left) => left > modelId),
      leftWorkload: async () => ({ settings: {}, taken: false }),
      forgetWorkload: async () => {},
    },
    timings: {
      ...FLEET_TIMINGS,
      minimumStayMs: 0,
      backoffFactor: 0,
      rereadMs: NEVER_MS,
      idleCheckMs: 1,
      leaveWorkloadsMs: 10,
    },
    nowMs: () => nowMs,
    monotonicMs: () => nowMs,
    logger,
    metrics: createRunnerMetrics(createMetrics('runner')),
    writer: new ConditionWriter({ writeCondition: async () => {} }, logger),
    catalog: new CatalogSource(0),
    gateways,
    createDriver: (spec, report) => new FakeDriver(machine, spec, left.get(spec.modelId) as Shape, report),
    clearStrays,
    endWorkload,
  });
  const advance = () => {
    nowMs += 1_000;
  };
  return { fleet, machine, rows, advance };
}

const calls = fc.array(
  fc.record({
    model: fc.nat(4),
    what: fc.constantFrom(
      'wake' as const,
      'start' as const,
      'stop' as const,
      'change' as const,
      'delete' as const,
    ),
  }),
  { maxLength: 12 },
);

const LARGE = { cost: CAPACITY, turnsToLook: 0, late: false, seenRunning: false, failedEnds: 0 } as const;
/** Is not running, which a takeover learns too late. */
const LATE = { ...LARGE, mode: 'always_on', late: true, runs: false, stopped: false } as const;
/** Has all of the room, and runs. */
const BUSY = { ...LARGE, mode: 'wake_on_request', seenRunning: true, runs: true, stopped: false } as const;

describe('a takeover', () => {
  it('lets an always-on model wait for the room of one that is still being stopped', async () => {
    const large = { ...LARGE, mode: 'always_on' } as const;
    const { fleet, machine } = fleetOf([
      { ...large, runs: false, stopped: false },
      { ...large, runs: true, stopped: true },
    ]);
    try {
      await fleet.start();
      expect(fleet.conditions().sort()).toEqual(['starting', 'stopped']);
      await eventually(() => machine.runs('mdl_0'));
    } finally {
      await fleet.close(false);
    }
  });

  it('does not start a model that later turns out to be off while another one has the room', async () => {
    const { fleet, machine } = fleetOf([LATE, BUSY]);
    try {
      await fleet.start();
      expect(fleet.conditions().sort()).toEqual(['running', 'starting']);
      await eventually(() => machine.runs('mdl_0'));
      expect(machine.most).toBeLessThanOrEqual(CAPACITY);
    } finally {
      await fleet.close(false);
    }
  });

  it('does not start a stopped model that may have run, while another one has the room', async () => {
    const { fleet, machine } = fleetOf([BUSY, { ...LATE, stopped: true }]);
    try {
      await fleet.start();
      await fleet.command('mdl_1', 'start');
      await eventually(() => machine.runs('mdl_1'));
      expect(machine.most).toBeLessThanOrEqual(CAPACITY);
    } finally {
      await fleet.close(false);
    }
  });

  it('leaves asleep a model that later turns out to be off, unless a request waits for it', async () => {
    const late = { ...LARGE, mode: 'wake_on_request', late: true, seenRunning: true } as const;
    const shapes = [0, 1].map(() => ({ ...late, cost: 1, runs: false, stopped: false, turnsToLook: 4 }));
    const { fleet, machine } = fleetOf(shapes);
    try {
      await fleet.start();
      expect(fleet.conditions()).toEqual(['starting', 'starting']);
      expect(await fleet.wake('mdl_0', new AbortController().signal)).toMatchObject({ condition: 'running' });
      await eventually(() => fleet.conditions().join() === 'running,asleep');
      expect(machine.used).toBe(1);
    } finally {
      await fleet.close(false);
    }
  });

  it.each([
    ['', { turnsToLook: 9 }],
    [', and its driver has said that it cannot find out', { turnsToLook: 9, complains: true }],
  ])('finds what was unknown even if it is changed meanwhile%s', async (_and, shape) => {
    const { fleet, machine, rows } = fleetOf([{ ...LATE, ...shape }, BUSY]);
    try {
      await fleet.start();
      rows.set('mdl_0', { ...(rows.get('mdl_0') as ModelSpec), version: 2 });
      await fleet.refresh('mdl_0');
      await eventually(() => machine.runs('mdl_0'));
      expect(machine.most).toBeLessThanOrEqual(CAPACITY);
    } finally {
      await fleet.close(false);
    }
  });

  it('looks for a shorter time than for a model that was just published', async () => {
    const shape = { ...LARGE, mode: 'always_on', runs: false, stopped: false } as const;
    const { fleet, rows, machine } = fleetOf([shape, shape]);
    const second = rows.get('mdl_1') as ModelSpec;
    rows.delete('mdl_1');
    try {
      await fleet.start();
      rows.set('mdl_1', second);
      await fleet.refresh('mdl_1');
      expect(machine.looked).toEqual([FLEET_TIMINGS.takeoverLookMs, FLEET_TIMINGS.lookMs]);
    } finally {
      await fleet.close(false);
    }
  });

  it('with workloads that cannot be scaled down does not delay the end of the runner', async () => {
    const { fleet } = fleetOf([], { endWorkload: () => new Promise(() => {}), leftBehind: 1 });
    await fleet.start();
    await fleet.close(false);
  });

  it('tries again to end strays that could not be ended, and stops trying when the runner ends', async () => {
    let tries = 0;
    const stubborn = async (survives: number) => {
      if (++tries <= survives) throw new Error('still running');
    };
    const { fleet } = fleetOf([], { clearStrays: () => stubborn(2) });
    await fleet.start();
    await eventually(() => tries === 3);
    await fleet.close(false);
    const { fleet: next } = fleetOf([], { clearStrays: () => stubborn(Number.POSITIVE_INFINITY) });
    await next.start();
    await eventually(() => tries > 5);
    await next.close(false);
  });

  it('does not wait for strays to end, but the end of the runner does', async () => {
    let end = () => {};
    const strays = new Promise<void>((resolve) => {
      end = resolve;
    });
    const { fleet } = fleetOf([], { clearStrays: () => strays });
    await fleet.start();
    let ended = false;
    const closed = fleet.close(false).then(() => {
      ended = true;
    });
    await turn();
    expect(ended).toBe(false);
    end();
    await closed;
  });
});

describe('the room of a pool that a fleet shares', () => {
  it('is not exceeded by a takeover, in whatever order it finds what still runs', async () => {
    await fc.assert(
      fc.asyncProperty(models, async (shapes) => {
        const { fleet, machine } = fleetOf(shapes);
        await fleet.start();
        await fleet.close(false);
        expect(machine.most).toBeLessThanOrEqual(CAPACITY);
      }),
      { numRuns: 100 },
    );
  });

  it('is not exceeded by wakes, starts, stops, changes and deletions, and comes back after them', async () => {
    await fc.assert(
      fc.asyncProperty(models, calls, async (shapes, asked) => {
        const { fleet, machine, rows, advance } = fleetOf(shapes);
        await fleet.start();
        const waits = new AbortController();
        for (const { model, what } of asked) {
          const modelId = `mdl_${model % shapes.length}`;
          const spec = rows.get(modelId);
          if (what === 'delete') rows.delete(modelId);
          if (what === 'change' && spec) rows.set(modelId, { ...spec, version: spec.version + 1 });
          if (what === 'wake') void fleet.wake(modelId, waits.signal);
          else if (what === 'start' || what === 'stop') await fleet.command(modelId, what);
          else await fleet.refresh(modelId);
          advance();
          await turn();
        }
        for (const modelId of [...rows.keys()]) {
          rows.delete(modelId);
          await fleet.refresh(modelId);
        }
        const isEmpty = () => fleet.room()?.used === 0;
        const emptied = await eventually(isEmpty, { intervalMs: 1 }).catch(() => false);
        waits.abort();
        await fleet.close(false);
        expect([emptied, machine.used]).toEqual([true, 0]);
        expect(machine.most).toBeLessThanOrEqual(CAPACITY);
      }),
      { numRuns: 50 },
    );
  });
});
