import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Channel, type ClientOptions } from '@grpc/grpc-js';
import { newModelId, newOrgId } from '@tidegate/contracts';
import { closeDb, createDb, type Db, type Prisma } from '@tidegate/db';
import { createRunnerClient } from '@tidegate/rpc';
import { createLogger, createMetrics, type Registry } from '@tidegate/runtime';
import { isPidAlive, PATIENT_DB } from '@tidegate/testing';
import type { KubernetesConfig } from '../config.ts';
import type { FleetTimings } from '../fleet/timings.ts';
import type { ModelUser } from '../isolation/model-user.ts';
import { createLeaseDb } from '../lead/lead.ts';
import { type Runner, startRunner } from '../runner.ts';
import { calls, type TestRunner, Watcher } from './client.ts';
import { MODEL_PROGRAM } from './model-program.ts';
import { FAST } from './timings.ts';

/** A busy machine may take long over a connection and over the answer to a ping. */
const PATIENT_CLIENT: ClientOptions = {
  'grpc.keepalive_timeout_ms': 120_000,
  channelFactoryOverride: (...how) => new Channel(...how),
};

export interface PublishedProcess {
  readonly modelId: string;
  /** The starts so far: the pid, and the names of its environment variables. */
  starts(): { readonly pid: number; readonly note: string }[];
}

export class Harness {
  readonly dir = mkdtempSync(join(tmpdir(), 'tidegate-runner-'));
  readonly stateDir = join(this.dir, 'state');
  readonly secretKey = Buffer.alloc(32, 7);
  readonly gatewayToken = 'g'.repeat(32);
  readonly orgId = newOrgId();
  readonly url: string;
  readonly db: Db;
  readonly #runners = new Set<Runner>();
  readonly #published: PublishedProcess[] = [];
  readonly #closing: (() => unknown)[] = [];

  private constructor(url: string, drop: () => Promise<void>) {
    this.url = url;
    this.db = createDb(url, { maxConnections: 4, ...PATIENT_DB });
    this.#closing.push(
      () => rmSync(this.dir, { recursive: true, force: true }),
      drop,
      () => closeDb(this.db),
    );
    writeFileSync(join(this.dir, 'model.mjs'), MODEL_PROGRAM);
    // Models may run as another user.
    chmodSync(this.dir, 0o755);
  }

  /** Uses a migrated database of its own, which is dropped at the end. */
  static async create({ url, drop }: { url: string; drop: () => Promise<void> }): Promise<Harness> {
    const harness = new Harness(url, drop);
    const plan = await harness.db.plan.findFirstOrThrow();
    const { orgId } = harness;
    await harness.db.org.create({ data: { id: orgId, slug: orgId, name: 'Test', planId: plan.id } });
    return harness;
  }

  /** Ends all runners of this process, and all models that any runner left. */
  async close(): Promise<void> {
    for (const runner of this.#runners) await runner.close();
    for (const pid of this.#published.flatMap(({ starts }) => starts().map((start) => start.pid)))
      if (isPidAlive(pid)) process.kill(pid, 'SIGKILL');
    for (const close of this.#closing.reverse()) await close();
  }

  /** Waits while something must not happen. */
  elapse(ms: number): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, ms));
  }

  onClose(close: () => unknown): void {
    this.#closing.push(close);
  }

  /** Creates an empty file that any user can write to. */
  writable(name: string): string {
    const file = join(this.dir, name);
    writeFileSync(file, '');
    chmodSync(file, 0o666);
    return file;
  }

  async publish(data: Partial<Prisma.ModelUncheckedCreateInput> = {}): Promise<string> {
    const mode = data.mode ?? 'wake_on_request';
    const condition = mode === 'always_on' ? 'starting' : 'asleep';
    const modelId = newModelId();
    const row = {
      name: modelId,
      kind: 'text',
      contextTokens: 4_096,
      driver: 'process',
      settings: {},
    } as const;
    await this.db.model.create({
      data: { ...row, mode, condition, orgId: this.orgId, ...data, id: modelId },
    });
    return modelId;
  }

  /**
   * Publishes a process model. `after`: it begins once this file exists. `how`: `parent`,
   * `stubborn`, `fail`, `chatty`, `bare`, `serves=NAME`, `key=KEY`.
   */
  async publishProcess(
    {
      after = '',
      delayMs = 0,
      how = '',
      settings = {},
    }: { after?: string; delayMs?: number; how?: string; settings?: object } = {},
    data: Partial<Prisma.ModelUncheckedCreateInput> = {},
  ): Promise<PublishedProcess> {
    const file = this.writable(`starts-${Math.random()}`);
    const model = `exec "${process.execPath}" "${join(this.dir, 'model.mjs')}" "${file}" ${delayMs} ${how}`;
    const command = after ? `until [ -e "${after}" ]; do sleep 0.05; done; ${model}` : model;
    const modelId = await this.publish({ ...data, settings: { command, ...settings } });
    const starts = () =>
      readFileSync(file, 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => ({ pid: Number(line.split(' ')[0]), note: line.slice(line.indexOf(' ') + 1) }));
    const published = { modelId, starts };
    this.#published.push(published);
    return published;
  }

  /** Starts a runner in this process. */
  async start(
    options: {
      timings?: Partial<FleetTimings>;
      metrics?: Registry;
      modelHost?: string;
      keepModelLogs?: boolean;
      stopModelsOnExit?: boolean;
      modelUser?: ModelUser;
      kubernetes?: KubernetesConfig | null;
      logTo?: (line: string) => void;
      pool?: string;
      leaseMs?: number;
      nowMs?: () => number;
      monotonicMs?: () => number;
    } = {},
  ): Promise<TestRunner> {
    const runner = this.standBy(options);
    return this.connect(await runner.leading, runner);
  }

  standBy({
    timings = {},
    metrics = createMetrics('runner'),
    modelHost = '127.0.0.1',
    keepModelLogs = false,
    stopModelsOnExit = true,
    kubernetes = null,
    modelUser = { user: null, env: { PATH: '/usr/bin:/bin', HF_TOKEN: 'hf-confidential' } },
    logTo,
    pool = 'local',
    leaseMs = 60_000,
    nowMs = Date.now,
    monotonicMs = () => performance.now(),
  }: Parameters<Harness['start']>[0] = {}): Runner {
    const leaseDb = createLeaseDb(this.url);
    this.onClose(() => closeDb(leaseDb));
    const runner = startRunner({
      host: '127.0.0.1',
      port: 0,
      db: this.db,
      leaseDb,
      candidate: { pool, holder: 'test', process: null },
      leadTimings: { leaseMs, renewMs: 100, tryMs: 50 },
      trust: { tokens: [], tls: null },
      secretKeys: [this.secretKey],
      stateDir: this.stateDir,
      modelHost,
      keepModelLogs,
      modelUser,
      kubernetes,
      stopModelsOnExit,
      timings: { ...FAST, ...timings },
      nowMs,
      monotonicMs,
      random: Math.random,
      logger: createLogger({
        service: 'runner',
        level: logTo ? 'debug' : 'silent',
        ...(logTo ? { destination: { write: logTo } } : {}),
      }),
      metrics,
    });
    this.#runners.add(runner);
    return runner;
  }

  connect(port: number, runner: Runner | null = null): TestRunner {
    const caller = { token: this.gatewayToken, tls: null };
    const client = createRunnerClient(`127.0.0.1:${port}`, caller, PATIENT_CLIENT);
    this.#closing.push(() => client.close());
    return { client, runner, ...calls(client), watch: (instanceId) => new Watcher(client, instanceId) };
  }
}
