import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually, freePort } from '@tidegate/testing';
import { closeControl, controlOf, must, OPERATOR, type Reachable } from '../support/control.ts';
import { startGateway } from '../support/gateway.ts';
import { modelFolder, type NotingModel } from '../support/noting-model.ts';
import { ask, newKey, newOrg, post } from '../support/org.ts';
import { type RunningRunner, startRunner } from '../support/runner.ts';
import { useSharedStack } from '../support/stack.ts';

const POOL = 'takeover';
const shared = useSharedStack();
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** The shared stack, as it looks to those who also know of this pool. */
function withPool({ info, dataDir }: Reachable, into: string, address: string): Reachable {
  mkdirSync(into);
  copyFileSync(join(dataDir, 'secrets.json'), join(into, 'secrets.json'));
  const env = JSON.parse(readFileSync(join(dataDir, 'env.json'), 'utf8'));
  const RUNNER_ADDRESS = `local=${env.RUNNER_ADDRESS},${POOL}=${address}`;
  writeFileSync(join(into, 'env.json'), JSON.stringify({ ...env, RUNNER_ADDRESS }));
  return { info, dataDir: into };
}

let leader: RunningRunner;
let standby: RunningRunner;
let models: Record<'first' | 'second', NotingModel>;
let complete: (model: string) => Promise<number>;

/** Two runners of one pool, a gateway that calls it, and two models in it that are asleep. */
beforeEach(async () => {
  const folder = modelFolder();
  ends.push(folder.remove);
  const ports = [await freePort(), await freePort()];
  const address = `ipv4:${ports.map((port) => `127.0.0.1:${port}`).join()}`;
  const stack = withPool(shared(), join(folder.dir, 'stack'), address);
  ends.push(() => closeControl(stack));
  models = { first: folder.model('first'), second: folder.model('second') };
  const org = await newOrg(stack);
  const { key } = await newKey(stack, org);
  const common = { org, kind: 'text', mode: 'wake_on_request', contextTokens: 1_000, pool: POOL } as const;
  for (const [name, model] of Object.entries(models)) {
    const { command, healthPath } = model;
    must(await controlOf(stack).publishModel(OPERATOR, { ...common, name, command, healthPath }));
    model.say('answer');
  }
  const start = async (port = 0) => {
    const stateDir = join(folder.dir, 'state');
    const runner = await startRunner(stack, { pool: POOL, port, stateDir });
    ends.push(runner.stop);
    await eventually(runner.isReady);
    return runner;
  };
  leader = await start(ports[0]);
  standby = await start(ports[1]);
  const gateway = await startGateway(stack, {});
  ends.push(gateway.stop);
  complete = async (model) => {
    const answer = await post(gateway.url, key, ask(model, 'Hi'));
    await answer.text();
    return answer.status;
  };
});

describe('the standby of a pool', () => {
  it('takes over from a leader that hangs, serves gateways, and keeps the lead when the other continues', async () => {
    expect(await complete('first')).toBe(200);
    leader.signal('SIGSTOP');
    // It is asleep, so some runner must wake it.
    expect([await complete('second'), await standby.leads()]).toEqual([200, true]);
    leader.signal('SIGCONT');
    await eventually(async () => (await leader.isReady()) && !(await leader.leads()));
    expect([await complete('first'), await complete('second'), await standby.leads()]).toEqual([
      200,
      200,
      true,
    ]);
    expect([models.first.starts(), models.second.starts()]).toEqual([1, 1]);
  });

  it('takes over from a leader that is killed, with the model that runs, and wakes another', async () => {
    expect([await leader.leads(), await standby.leads()]).toEqual([true, false]);
    expect(await complete('first')).toBe(200);
    leader.signal('SIGKILL');
    expect([await complete('first'), await complete('second')]).toEqual([200, 200]);
    expect(await standby.leads()).toBe(true);
    expect([models.first.starts(), models.second.starts()]).toEqual([1, 1]);
  });
});
