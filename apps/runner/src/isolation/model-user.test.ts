import { statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually, itAsRoot, testPostgres } from '@tidegate/testing';
import { Harness } from '../testing/harness.ts';

let harness: Harness;
beforeEach(async () => {
  harness = await Harness.create(await testPostgres());
});
afterEach(() => harness.close());

const asRoot = itAsRoot(it);

describe('a runner whose models run as its own user', () => {
  it('says so once, when it first has a model with a process', async () => {
    const lines: string[] = [];
    const said = () => lines.filter((line) => line.includes("run as the runner's own user")).length;
    await harness.publish({ driver: 'external', settings: { urls: ['http://127.0.0.1:1/v1'] } });
    const runner = await harness.start({ logTo: (line) => lines.push(line) });
    expect(said()).toBe(0);
    for (let i = 0; i < 2; i++) await runner.refresh((await harness.publishProcess()).modelId);
    await eventually(() => said() > 0);
    expect(said()).toBe(1);
    expect(lines.join()).toContain('can read its environment and memory, secrets included');
  });
});

describe('models that run as another user', () => {
  asRoot('have a home of their own, and nobody but the runner can look into its records', async () => {
    const home = join(harness.dir, 'home');
    const modelUser = {
      user: { uid: 65_522, gid: 65_522, home },
      env: { PATH: '/usr/bin:/bin', HOME: home },
    };
    const command = 'cd && touch mine && echo "in $(pwd)"; exit 1';
    const modelId = await harness.publish({ settings: { command } });
    const runner = await harness.start({ modelUser });
    expect((await runner.wake(modelId)).reason).toContain(`in ${home}`);
    expect(statSync(join(home, 'mine')).uid).toBe(65_522);
    expect([statSync(home), statSync(harness.stateDir)].map(({ mode }) => mode & 0o777)).toEqual([
      0o700, 0o700,
    ]);
  });
});
