import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findRedis, type RunningRedis, startRedis } from '@tidegate/embedded';
import { freePort } from '@tidegate/testing';
import { audit } from '../audit/audit.ts';
import { untilQuiet } from '../audit/quiet.ts';
import { plainAsk, type Seen, send } from '../load/ask.ts';
import type { Org } from '../world/org.ts';
import { makeOrg } from '../world/orgs.ts';
import { pause, type Random } from '../world/random.ts';
import type { World } from '../world/world.ts';
import type { Outcome, Scenario } from './scenario.ts';
import { underAttack } from './under-attack.ts';

const DISK = '48m';
/** Longer than a lease. */
const LONG_MS = 12_000;
const BACK_WITHIN_MS = 2_000;
const PIECE = Buffer.alloc(64 * 1024);

/** A small disk in memory. Needs root. */
class Disk {
  readonly path = mkdtempSync(join(tmpdir(), 'tidegate-disk-'));
  readonly #filler = join(this.path, 'filler');

  constructor() {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK}`, 'tmpfs', this.path]);
  }

  fill(): void {
    const file = openSync(this.#filler, 'a');
    try {
      for (const piece of [PIECE, PIECE.subarray(0, 512)]) {
        try {
          for (;;) writeSync(file, piece);
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
        }
      }
    } finally {
      closeSync(file);
    }
  }

  free(): void {
    rmSync(this.#filler, { force: true });
  }

  remove(): void {
    execFileSync('umount', ['-l', this.path]);
    rmSync(this.path, { recursive: true, force: true });
  }
}

/**
 * Redis' disk is full for a while. With `everysec` Redis refuses writes; with `always` it exits.
 * Nothing that was written is lost.
 */
export const fullDisk: Scenario = {
  id: 'disk',
  name: "Redis' disk full (everysec: refuses writes; always: ends)",
  laws: '1, 2, 3',
  unit: 'times',
  async run(random, size) {
    const outcomes: Outcome[] = [];
    for (const appendfsync of ['everysec', 'always'] as const) {
      outcomes.push(await fullUnder(random, appendfsync, size === 'short' ? 3_000 : LONG_MS));
    }
    return {
      violations: outcomes.flatMap(({ violations }) => violations),
      trials: outcomes.length,
      notes: outcomes.map(({ notes }) => notes).join('; '),
    };
  },
};

async function fullUnder(random: Random, appendfsync: 'everysec' | 'always', lastsMs: number) {
  const disk = new Disk();
  const server = await findRedis({ localDir: join(disk.path, 'tools') });
  const port = await freePort();
  const open = () => startRedis({ server, dir: join(disk.path, 'data'), port, appendfsync });
  let redis: RunningRedis = await open();
  try {
    return await underAttack({ redisUrl: redis.url }, async (world) => {
      const org = await makeOrg(world, { keys: [{}, {}], models: ['tide'] });
      const attack = new FullDisk(world, random, org, appendfsync);
      const streams = attack.streams(lastsMs);
      await attack.untilUnderWay();
      disk.fill();
      await attack.refused(lastsMs);
      disk.free();
      if (appendfsync === 'always') {
        await redis.exited;
        redis = await open();
      }
      return attack.finish(streams);
    });
  } finally {
    await redis.stop();
    disk.remove();
  }
}

class FullDisk {
  readonly #world: World;
  readonly #random: Random;
  readonly #org: Org;
  readonly #name: string;
  readonly #seen: Seen[] = [];
  readonly #violations: string[] = [];
  #sent = 0;

  constructor(world: World, random: Random, org: Org, name: string) {
    this.#world = world;
    this.#random = random;
    this.#org = org;
    this.#name = name;
  }

  /** Starts streams that end after the disk has room again. Their settlements must not get lost. */
  streams(lastsMs: number): Promise<Seen>[] {
    const gapMs = Math.ceil((lastsMs + 4_000) / 20);
    return Array.from({ length: 10 }, () => this.#send({ tokens: 20, gapMs }, true));
  }

  async untilUnderWay(): Promise<void> {
    while (this.#world.witness.inFlightOf(this.#org.id) < 10) await pause(20);
    for (let i = 0; i < 20; i++) await this.#send({});
  }

  /**
   * Sends requests while the disk is full. Expects all of them to fail, from the first failure on.
   */
  async refused(lastsMs: number): Promise<void> {
    const endMs = Date.now() + lastsMs;
    let errors = 0;
    while (Date.now() < endMs) {
      const { status, code } = await this.#send({});
      if (status === 500 && code === 'internal_error') errors++;
      // At first, Redis may still have room in its last page, or may not have noticed yet.
      else if (status !== 200 || errors > 0) this.#violations.push(`disk full: ${status} ${code}`);
      await pause(20);
    }
    if (errors === 0) this.#violations.push('the disk was not full');
  }

  async finish(streams: readonly Promise<Seen>[]): Promise<Outcome> {
    const freeMs = Date.now();
    for (const gateway of this.#world.gateways) {
      while ((await this.#send({}, false, gateway)).status !== 200) {
        if (Date.now() - freeMs > 30_000) throw new Error('no service after the disk has room again');
        await pause(20);
      }
    }
    const backMs = Date.now() - freeMs;
    if (backMs > BACK_WITHIN_MS) this.#violations.push(`${this.#name}: full service only after ${backMs} ms`);
    for (const { complete } of await Promise.all(streams))
      if (!complete) this.#violations.push(`${this.#name}: a stream that was under way was cut off`);
    const unquiet = await untilQuiet(this.#world);
    const { violations, counts } = await audit(this.#world, this.#seen);
    return {
      violations: [...this.#violations, ...unquiet, ...violations],
      trials: 1,
      notes: `${this.#name}: back after ${backMs} ms ${JSON.stringify(counts)}`,
    };
  }

  async #send(order: { tokens?: number; gapMs?: number }, stream = false, gateway?: string): Promise<Seen> {
    const { keys } = this.#org;
    const tag = `${this.#name}-${this.#sent++}`;
    const to = gateway ?? this.#random.pick(this.#world.gateways);
    const seen = await send({ ...plainAsk(this.#random.pick(keys), to, { tag, ...order }), stream });
    this.#seen.push(seen);
    return seen;
  }
}
