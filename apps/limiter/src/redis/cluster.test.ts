import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { orgTagOf } from '@tidegate/contracts';
import { closeDb, type Db } from '@tidegate/db';
import type { ClusterNode, RunningRedisCluster } from '@tidegate/embedded';
import { createRedisConnection, slotOf } from '@tidegate/redis';
import { callUnary } from '@tidegate/rpc';
import { createLogger } from '@tidegate/runtime';
import { eventually, type TestPostgres, testPostgres, testRedisCluster } from '@tidegate/testing';
import type { Redis } from 'ioredis';
import { anAdmitInput } from '../testing/admit-input.ts';
import { connectDb, makeKey, makeOrg, openStore, PATIENT_MS, type TestKey } from '../testing/fixture.ts';
import { beatingInstance, keepBeating, monthOfOrg, PATIENT_CALL, Rig } from '../testing/rig.ts';
import { createRedis } from './connection.ts';
import { createRedisLink } from './link.ts';
import { Store } from './store.ts';

const MASTERS = 3;
const SLOTS = 16_384;

let postgres: TestPostgres;
let cluster: RunningRedisCluster;
let db: Db;
let rig: Rig;

beforeAll(async () => {
  [postgres, cluster] = await Promise.all([testPostgres(), testRedisCluster({ replicas: true })]);
  db = connectDb(postgres.url);
  rig = new Rig(cluster.url, db);
});

afterAll(async () => {
  await rig.close();
  await closeDb(db);
  await Promise.all([cluster.stop(), postgres.drop()]);
});

const slotOfOrg = (orgId: string): number => slotOf(`{${orgTagOf(orgId)}}`);
const masterOf = (orgId: string): number => Math.floor((slotOfOrg(orgId) * MASTERS) / SLOTS);

/** A key of one organization on each master, in the order of the masters. */
async function keyOnEach(requestsAtOnce: number): Promise<TestKey[]> {
  const keys: TestKey[] = [];
  while (Object.keys(keys).length < MASTERS) {
    const orgId = await makeOrg(db, { requestsAtOnce });
    keys[masterOf(orgId)] ??= await makeKey(db, orgId);
  }
  return keys;
}

/** Ensures that the replica has what its master has of an organization. */
async function replicated({ running }: ClusterNode, orgId: string): Promise<void> {
  const master = createRedisConnection(running.url);
  try {
    await master.set(`{${orgTagOf(orgId)}}last`, '1');
    expect(await master.wait(1, PATIENT_MS)).toBe(1);
  } finally {
    master.disconnect();
  }
}

/**
 * How many replicas a node must have to take a write. Resolves when every master has them.
 * Connected clients learn of no change.
 */
async function requireReplicas(count: number): Promise<void> {
  for (const { running } of cluster.nodes) {
    const node = createRedisConnection(running.url);
    await node.config('SET', 'min-replicas-to-write', count);
    await eventually(async () => {
      const { role, good } =
        /role:(?<role>\w+).*?(min_slaves_good_slaves:(?<good>\d+)|$)/s.exec(await node.info('replication'))
          ?.groups ?? {};
      return role === 'slave' || Number(good ?? 0) >= count;
    });
    node.disconnect();
  }
}

/** Makes these nodes replace a master that has been silent for `ms`. */
async function replaceMastersSilentFor(ms: number, nodes: readonly ClusterNode[]): Promise<void> {
  for (const { running } of nodes) {
    const node = createRedisConnection(running.url);
    try {
      // A replica takes over however long ago it heard of its master.
      await node.config('SET', 'cluster-replica-validity-factor', '0');
      await node.config('SET', 'cluster-node-timeout', String(ms));
    } finally {
      node.disconnect();
    }
  }
}

describe('on a Redis Cluster', () => {
  it('a node whose name no longer resolves does not keep clients from the others', async () => {
    const client = createRedis(cluster.url.replace('//', '//gone.invalid:7000,'), PATIENT_MS);
    client.on('error', () => undefined);
    try {
      await client.connect();
      expect(await client.call('get', 'nothing')).toBeNull();
    } finally {
      client.disconnect();
    }
  });

  it('the calls of one message reach all masters, and each master keeps its limits exactly', async () => {
    const keys = await keyOnEach(5);
    const session = rig.session(await rig.limiter());
    const instanceId = await beatingInstance(session);
    const outcomes = await Promise.all(
      Array.from({ length: 90 }, (_, i) => {
        const admit = anAdmitInput(keys[i % MASTERS] as TestKey, instanceId);
        return session.decide({ admit }).then(({ admitted }) => ({ admit, admitted }));
      }),
    );
    for (const { orgId } of keys) {
      const admitted = outcomes.filter(({ admit, admitted }) => admit.orgId === orgId && admitted);
      expect(admitted).toHaveLength(5);
      await Promise.all(admitted.map(({ admit }) => session.ask({ settle: { ...admit, answered: true } })));
      expect(await monthOfOrg(session, orgId)).toMatchObject({ requests: 5, inFlight: 0 });
    }
  });

  it.each([0, 1])(
    'no call of an organization fails or counts twice while its slot moves to another master, with %d replicas required',
    async (replicas) => {
      await requireReplicas(replicas);
      const [key] = (await keyOnEach(1_000)) as [TestKey];
      const session = rig.session(await rig.limiter());
      const instanceId = await beatingInstance(session);
      await session.decide({ admit: anAdmitInput(key, instanceId) });
      let moved = false;
      let asked = 1;
      const asking = (async () => {
        while (!moved) {
          asked++;
          const { admitted } = await session.decide({ admit: anAdmitInput(key, instanceId) });
          expect(admitted).toBeTruthy();
        }
      })();
      await moveSlot(slotOfOrg(key.orgId), cluster.nodes[0] as ClusterNode, cluster.nodes[1] as ClusterNode);
      moved = true;
      await asking;
      await session.decide({ admit: anAdmitInput(key, instanceId) });
      expect(await monthOfOrg(session, key.orgId)).toMatchObject({
        requests: asked + 1,
        inFlight: asked + 1,
      });
      await requireReplicas(0);
    },
  );

  it('a node that requires a replica answers nothing that its replica does not have, sent directly or after a redirect', async () => {
    await requireReplicas(1);
    const logger = createLogger({ service: 'limiter', level: 'silent' });
    const link = createRedisLink(cluster.url, 2_000, logger);
    const store = new Store({ shards: link.shards });
    const replicas = cluster.nodes.slice(MASTERS);
    const signal = (name: NodeJS.Signals) => {
      for (const { running } of replicas) running.kill(name);
    };
    link.open();
    try {
      await eventually(() => link.shards.whole());
      expect(await store.command('incr', 'direct')).toBe(1);
      expect(await link.shards.follow('incr', ['redirected'])).toBe(1);
      signal('SIGSTOP');
      await expect(store.command('incr', 'direct')).rejects.toThrow('redis');
      await expect(link.shards.follow('incr', ['redirected'])).rejects.toThrow();
    } finally {
      signal('SIGCONT');
      link.close();
      await requireReplicas(0);
    }
  });

  it('a client that disconnects while it reads the slot map leaves nothing that keeps its process alive', async () => {
    // The client asks once when it learns that some nodes are replicas, then regularly.
    const source = `import { createRedisClient } from '@tidegate/redis';
      const client = createRedisClient('${cluster.url}');
      const ask = client.refreshSlotsCache.bind(client);
      let asked = 0;
      client.once('ready', () => {
        client.refreshSlotsCache = (callback) => {
          ask(callback);
          if (++asked === 2) client.disconnect();
        };
      });`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
      cwd: fileURLToPath(new URL('.', import.meta.url)),
      stdio: 'inherit',
      timeout: 180_000,
    });
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  it('replicas that refuse connections are not an outage, however often they are tried; a lost master is one', async () => {
    const nodes = cluster.nodes.map(({ running }) => createRedisConnection(running.url));
    const [masters, replicas] = [nodes.slice(0, MASTERS), nodes.slice(MASTERS)];
    const listed = async (master: Redis) =>
      ((await master.cluster('SLOTS')) as unknown[][]).every(([, , ...servers]) => servers.length === 2);
    const tried = async (replica: Redis) =>
      Number(/total_connections_received:(\d+)/.exec(await replica.info('stats'))?.[1]);
    const link = createRedisLink(
      cluster.url,
      PATIENT_MS,
      createLogger({ service: 'limiter', level: 'silent' }),
    );
    let breaks = 0;
    link.onBreak(() => breaks++);
    try {
      for (const master of masters) await eventually(() => listed(master));
      for (const replica of replicas) await replica.config('SET', 'requirepass', 'not-told');
      link.open();
      await eventually(() => link.shards.whole());
      const atFirst = breaks;
      for (const replica of replicas) {
        const before = await tried(replica);
        await eventually(async () => (await tried(replica)) > before + 3);
      }
      expect(breaks).toBe(atFirst);
      await masters[0]?.call('CLIENT', 'KILL', 'TYPE', 'normal');
      await eventually(() => breaks > atFirst);
    } finally {
      link.close();
      for (const replica of replicas) await replica.config('SET', 'requirepass', '');
      for (const node of nodes) node.disconnect();
    }
  });

  it('a killed master interrupts only its own organizations, and its replica restores them as they were', async () => {
    const keys = await keyOnEach(3);
    const [limiter, other] = [await rig.limiter(), await rig.limiter()];
    const session = rig.session(limiter);
    const told = rig.session(other);
    const instanceId = await beatingInstance(session);
    const beats = keepBeating(session, instanceId);
    for (const key of keys) await session.decide({ admit: anAdmitInput(key, instanceId) });
    const [, lost, left] = keys as [TestKey, TestKey, TestKey];

    const victim = cluster.nodes[1] as ClusterNode;
    await replicated(victim, lost.orgId);
    victim.running.kill('SIGKILL');
    await victim.running.exited;
    const failed = await session.ask({ admit: anAdmitInput(lost, instanceId) });
    expect(failed.failed).toMatchObject({ reason: expect.stringMatching(/^redis/), notRun: true });
    expect((await session.decide({ admit: anAdmitInput(left, instanceId) })).admitted).toBeTruthy();

    const survivors = cluster.nodes.filter((node) => node !== victim);
    await replaceMastersSilentFor(1_000, survivors);
    await eventually(async () => (await session.decide({ admit: anAdmitInput(lost, instanceId) })).admitted);
    await replaceMastersSilentFor(PATIENT_MS, survivors);
    const third = anAdmitInput(lost, instanceId);
    expect((await session.decide({ admit: third })).admitted).toBeTruthy();
    expect((await session.decide({ admit: anAdmitInput(lost, instanceId) })).rateLimited).toMatchObject({
      cause: 'CAUSE_ORG_REQUESTS_AT_ONCE',
    });
    await eventually(async () => {
      await callUnary(session.client, 'refreshOrgs', { orgIds: [lost.orgId] }, PATIENT_CALL);
      return told.notices.some(({ orgChanged }) => orgChanged?.orgId === lost.orgId);
    });
    beats.stop();
  });
});

/**
 * Moves a slot the way redis-cli does: tells both nodes, migrates the keys one by one, then tells
 * all nodes.
 */
async function moveSlot(slot: number, from: ClusterNode, to: ClusterNode): Promise<void> {
  const { redis, everywhere } = await openStore(cluster.url);
  const [source, target] = [from, to].map(({ port }) =>
    createRedisConnection(`redis://127.0.0.1:${port}`, { retryStrategy: () => null }),
  );
  if (!source || !target) throw new Error('unreachable');
  try {
    const [sourceId, targetId] = (await Promise.all([source.cluster('MYID'), target.cluster('MYID')])) as [
      string,
      string,
    ];
    await target.cluster('SETSLOT', slot, 'IMPORTING', sourceId);
    await source.cluster('SETSLOT', slot, 'MIGRATING', targetId);
    for (const key of (await source.cluster('GETKEYSINSLOT', slot, 1_000)) as string[])
      await source.migrate('127.0.0.1', to.port, key, 0, PATIENT_MS);
    await target.cluster('SETSLOT', slot, 'NODE', targetId);
    await everywhere('cluster', 'SETSLOT', String(slot), 'NODE', targetId);
  } finally {
    for (const client of [redis, source, target]) client.disconnect();
  }
}
