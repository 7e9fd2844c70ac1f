import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseApiKey } from '@tidegate/contracts';
import type { ClusterNode, RunningRedisCluster } from '@tidegate/embedded';
import { createRedisClient, slotOf } from '@tidegate/redis';
import { type Standin, startStandin } from '@tidegate/standin';
import { eventually, testRedisCluster } from '@tidegate/testing';
import { controlOf, must, OPERATOR } from '../support/control.ts';
import { ask, type NewKey, newKey, newOrg, post, publish } from '../support/org.ts';
import { usageOf, useStack } from '../support/stack.ts';

const MASTERS = 3;
const SLOTS = 16_384;
/** Long, so that a busy node does not pass for a dead one. */
const NODE_TIMEOUT_MS = 15_000;
/** Set once a node has been killed. */
const SHORT_NODE_TIMEOUT_MS = 1_000;
/** How many answers must arrive after the master has died. */
const ANSWERS_AFTER = 20;

interface TestOrg extends NewKey {
  readonly org: string;
  answered: number;
}

describe('a whole stack on a Redis Cluster', () => {
  let cluster: RunningRedisCluster;
  let standin: Standin;
  const stack = useStack(async () => {
    cluster = await testRedisCluster({ replicas: true, appendonly: true, nodeTimeoutMs: NODE_TIMEOUT_MS });
    return { demo: false, redisUrl: cluster.url };
  });
  beforeAll(async () => {
    standin = await startStandin({ names: ['tide'] });
  });
  afterAll(async () => {
    await standin?.close();
    await cluster?.stop();
  });

  const masterOf = ({ key }: NewKey): ClusterNode => {
    const slot = slotOf(`{${parseApiKey(key)?.orgTag}}`);
    return cluster.nodes[Math.floor((slot * MASTERS) / SLOTS)] as ClusterNode;
  };
  const setNodeTimeout = async (nodes: readonly ClusterNode[], ms: number) => {
    for (const { port } of nodes) {
      const client = createRedisClient(`redis://127.0.0.1:${port}`);
      await client.call('CONFIG', 'SET', 'cluster-node-timeout', ms);
      client.disconnect();
    }
  };
  const newTestOrg = async (): Promise<TestOrg> => {
    const org = await newOrg(stack());
    await publish(stack(), org, standin.url);
    return { ...(await newKey(stack(), org)), org, answered: 0 };
  };
  const request = async (testOrg: TestOrg, stream: boolean): Promise<number> => {
    const answer = await post(stack().info.gateway, testOrg.key, ask('tide', '[[tokens=5]]', { stream }));
    const text = await answer.text();
    if (answer.status === 200 && (!stream || text.includes('[DONE]'))) testOrg.answered++;
    return answer.status;
  };
  /**
   * Expects every answered request to be counted as answered, exactly once. The month must agree
   * with the rows.
   */
  const expectUsage = ({ org, answered }: TestOrg) =>
    eventually(
      async () => {
        const { totals, month } = await usageOf(stack(), org);
        expect(totals.requests - totals.errors).toBe(answered);
        expect(month.tokens).toMatchObject({
          charged: totals.promptTokens + totals.completionTokens + totals.reservedTokens,
          reserved: 0,
        });
        return true;
      },
      { intervalMs: 250 },
    );

  it('answers, counts, revokes, and survives a master that is killed without losing a count', async () => {
    const testOrgs = [await newTestOrg(), await newTestOrg()];
    const [first] = testOrgs as [TestOrg];
    await eventually(async () => (await request(first, false)) === 200);
    for (const testOrg of testOrgs)
      for (const stream of [false, true]) expect(await request(testOrg, stream)).toBe(200);

    const victim = masterOf(first);
    let stopped = false;
    const load = testOrgs.map(async (testOrg) => {
      for (let i = 0; !stopped; i++) await request(testOrg, i % 2 === 0);
    });
    await setNodeTimeout(cluster.nodes, SHORT_NODE_TIMEOUT_MS);
    victim.running.kill('SIGKILL');
    await victim.running.exited;
    const replica = cluster.nodes[cluster.nodes.indexOf(victim) + MASTERS];
    await eventually(() => replica?.isMaster());
    const others = cluster.nodes.filter((node) => node !== victim);
    await setNodeTimeout(others, NODE_TIMEOUT_MS);
    const before = first.answered;
    await eventually(() => first.answered >= before + ANSWERS_AFTER);
    stopped = true;
    await Promise.all(load);
    for (const testOrg of testOrgs) await expectUsage(testOrg);

    must(await controlOf(stack()).revokeKey(OPERATOR, { org: first.org, id: first.id }));
    expect(await request(first, false)).toBe(401);
    await victim.start();
    await cluster.whole();
    expect(await request(first, false)).toBe(401);
  });
});
