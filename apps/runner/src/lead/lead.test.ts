import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually, testPostgres } from '@tidegate/testing';
import { Harness } from '../testing/harness.ts';

let harness: Harness;
beforeEach(async () => {
  harness = await Harness.create(await testPostgres());
});
afterEach(() => harness.close());

const endLeadSessions = () =>
  harness.db
    .$queryRaw`SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

describe('of several runners', () => {
  it('one is active; another stands by, not ready, and takes over when it ends', async () => {
    const first = await harness.start();
    const second = harness.standBy();
    await harness.elapse(800);
    expect([first.runner?.ready(), second.ready()]).toEqual([true, false]);
    await first.runner?.close();
    await second.active;
    expect(second.ready()).toBe(true);
  });

  it('the active one stands down when its lock is lost, and another takes over with later revisions', async () => {
    let lost = false;
    const first = await harness.start({
      onLeadLost: () => {
        lost = true;
      },
    });
    const watcher = first.watch('gw_1');
    await eventually(() => watcher.revision > 0);
    const second = harness.standBy();
    await endLeadSessions();
    await eventually(() => lost);
    await watcher.ended;
    expect(first.runner?.ready()).toBe(false);
    const after = harness.connect(await second.active).watch('gw_1');
    await eventually(() => after.revision > watcher.revision);
  });

  it('one that stands by is closed without having acted', async () => {
    await harness.start();
    const second = harness.standBy();
    await second.close();
    await expect(second.active).rejects.toThrow('closed before it was active');
  });
});
