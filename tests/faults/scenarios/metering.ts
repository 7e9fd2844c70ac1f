import { TcpProxy } from '@tidegate/testing';
import { audit } from '../audit/audit.ts';
import { readLive } from '../audit/live.ts';
import { untilQuiet } from '../audit/quiet.ts';
import { Load } from '../load/load.ts';
import { pause, type Random } from '../world/random.ts';
import { startStores } from '../world/stores.ts';
import type { World } from '../world/world.ts';
import { fiveOrgs } from './kills.ts';
import type { Scenario } from './scenario.ts';
import { underAttack } from './under-attack.ts';

const LONG_KILLS = 20;
const WRITES = 'INSERT INTO request';
/** Postgres' message "ready for query, no transaction open": the statement is committed. */
const COMMITTED = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);
const WAIT_MS = 20_000;

/**
 * Metering dies after Postgres has committed a batch and before anyone knows. In half of the trials
 * Postgres' answer never reaches metering. In the others it does, but nothing that metering then
 * says reaches the queue. The batch is delivered again, and counts once.
 */
export const meteringBetween: Scenario = {
  id: 'metering',
  name: 'metering killed between commit and acknowledgement',
  laws: '2',
  unit: 'kills',
  async run(random, size) {
    const stores = await startStores();
    const postgres = await TcpProxy.start(Number(new URL(stores.postgres.url).port));
    const redis = await TcpProxy.start(Number(new URL(stores.redis.url).port));
    const env = {
      metering: {
        DATABASE_URL: postgres.urlFor(stores.postgres.url),
        REDIS_URL: redis.urlFor(stores.redis.url),
      },
    };
    const options = { databaseUrl: stores.postgres.url, redisUrl: stores.redis.url, env };
    try {
      return await underAttack(options, async (world) => {
        await fiveOrgs(world, 4);
        const load = new Load(world, random, { clients: 16, hangUps: 0.1, restMs: 150 });
        const killer = new KillAfterCommit(world, random, postgres, redis);
        const kills = size === 'short' ? 2 : LONG_KILLS;
        for (let i = 0; i < kills; i++)
          await killer.killOnce(i % 2 === 0 ? 'commit unheard' : 'queue untold');
        const seen = await load.stop();
        const unquiet = await untilQuiet(world);
        const { violations, counts } = await audit(world, seen);
        return {
          violations: [...killer.violations, ...unquiet, ...violations],
          trials: kills,
          notes: `${JSON.stringify(counts)} committed but unconfirmed when killed: ${killer.unconfirmed.join(' ')}`,
        };
      });
    } finally {
      await postgres.stop();
      await redis.stop();
      await stores.stop();
    }
  },
};

class KillAfterCommit {
  readonly violations: string[] = [];
  /** For each trial: settlements that were rows, but still in an outbox or the queue. */
  readonly unconfirmed: number[] = [];
  readonly #world: World;
  readonly #random: Random;
  readonly #postgres: TcpProxy;
  readonly #redis: TcpProxy;

  constructor(world: World, random: Random, postgres: TcpProxy, redis: TcpProxy) {
    this.#world = world;
    this.#random = random;
    this.#postgres = postgres;
    this.#redis = redis;
  }

  async killOnce(how: 'commit unheard' | 'queue untold'): Promise<void> {
    await pause(this.#random.whole(100, 1_500));
    await this.#committed(how);
    if (how === 'queue untold') await pause(this.#random.whole(0, 40));
    const back = this.#world.kill('metering');
    const jobs = await this.#world.redis.llen('{tg:queue}:settlements:active');
    const open = await this.#unconfirmed();
    this.unconfirmed.push(open);
    if (how === 'commit unheard' && open === 0)
      this.violations.push('nothing was committed and unconfirmed: this trial proves nothing');
    if (jobs === 0) this.violations.push('no job was unacknowledged: this trial proves nothing');
    this.#postgres.onReply = () => true;
    this.#redis.mute = false;
    this.#redis.cut();
    await back;
  }

  /** Resolves at the instant of the next commit. */
  #committed(how: 'commit unheard' | 'queue untold'): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(reject, WAIT_MS, new Error('metering wrote nothing'));
      this.#postgres.onReply = ({ asked }, reply) => {
        if (!asked.includes(WRITES) || !reply.includes(COMMITTED)) return true;
        clearTimeout(timer);
        this.#redis.mute = how === 'queue untold';
        resolve();
        return how === 'queue untold';
      };
    });
  }

  async #unconfirmed(): Promise<number> {
    const { redis, db, orgs } = this.#world;
    let count = 0;
    for (const org of orgs) {
      if ((await readLive(this.#world, org)).outbox === 0) continue;
      const entries = await redis.xrange(`tg:{${org.tag}}:outbox`, '-', '+');
      const ids = entries.map(([, fields]) => String(fields[1]).split(' ')[0] ?? '');
      count += await db.request.count({ where: { reservationId: { in: ids } } });
    }
    return count;
  }
}
