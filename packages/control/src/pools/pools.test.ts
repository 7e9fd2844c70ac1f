import { beforeEach, describe, expect, it } from '@jest/globals';
import { testClock } from '@tidegate/testing';
import { ownTestDb } from '@tidegate/testing/hooks';
import { createFixture, type Fixture, OPERATOR, refusal, value } from '../fixture.ts';

const db = ownTestDb();
let fixture: Fixture;
let org: string;
beforeEach(async () => {
  fixture = createFixture(db(), testClock().now);
  fixture.runner.pools = ['local', 'gpu0'];
  await db().model.deleteMany();
  org = await fixture.org('Pools');
});

const model = { kind: 'text', contextTokens: 1, command: 'serve $PORT', pool: 'gpu0' } as const;
const publish = (name: string, mode: 'always_on' | 'wake_on_request', cost: number) =>
  fixture.control.publishModel(OPERATOR, { org, name, mode, ...model, cost });
const capacity = (of: number) => fixture.control.setPool(OPERATOR, { name: 'gpu0', capacity: of });

describe('the capacity of a pool', () => {
  it('is listed with what models take of it, always on and now, and can be removed', async () => {
    value(await capacity(80));
    value(await publish('always', 'always_on', 30));
    value(await publish('wakes', 'wake_on_request', 50));
    fixture.runner.rooms.set('gpu0', { used: 70, waiting: 1 });
    const gpu0 = { name: 'gpu0', capacity: 80, permanent: 30, models: 2 };
    const none = { inUse: null, waiting: null };
    const local = { name: 'local', capacity: null, permanent: 0, ...none, models: 0 };
    const listed = async () => value(await fixture.control.listPools(OPERATOR));
    expect(await listed()).toEqual([{ ...gpu0, inUse: 70, waiting: 1 }, local]);
    fixture.runner.away = true;
    expect(await listed()).toEqual([{ ...gpu0, ...none }, local]);
    fixture.runner.away = false;
    expect(value(await capacity(0)).capacity).toBeNull();
    value(await publish('any', 'wake_on_request', 1_000));
  });

  it('is set only for a pool with a runner, a model or a capacity, so that a mistyped name creates no pool', async () => {
    const set = (name: string, capacity: number) => fixture.control.setPool(OPERATOR, { name, capacity });
    expect(refusal(await set('gpu1', 80))).toMatchObject({
      ...{ code: 'invalid_input', field: 'name' },
      message: expect.stringContaining('a pool in RUNNER_ADDRESS (local, gpu0), or one that has models'),
    });
    value(await set('gpu0', 80));
    value(await publish('there', 'wake_on_request', 1));
    fixture.runner.pools = ['local'];
    value(await set('gpu0', 0));
    value(await set('gpu0', 70));
    await db().model.deleteMany();
    value(await set('gpu0', 0));
    expect(refusal(await set('gpu0', 80))).toMatchObject({ field: 'name' });
  });

  it('reaches the runner of the pool with the refresh of one of its models', async () => {
    expect(value(await capacity(80)).runnerReached).toBe(true);
    expect(fixture.runner.calls).toEqual([]);
    const { id } = value(await publish('wakes', 'wake_on_request', 50));
    fixture.runner.calls.length = 0;
    expect(value(await capacity(90))).toMatchObject({ capacity: 90, runnerReached: true });
    expect(fixture.runner.calls).toEqual([`refresh ${id} gpu0`]);
    // What is in use is asked for only after the runner knows the capacity.
    fixture.runner.room = async () => ({ used: fixture.runner.calls.length, waiting: 0 });
    expect(value(await capacity(80)).inUse).toBe(2);
    fixture.runner.away = true;
    expect(value(await capacity(0))).toMatchObject({ capacity: null, runnerReached: false });
  });

  it('that is changed is in the trails of the organizations with models there, and in no other', async () => {
    const other = await fixture.org('Elsewhere');
    value(await publish('wakes', 'wake_on_request', 50));
    const operator = { kind: 'operator', systemUser: 'alice' } as const;
    for (const capacity of [80, 0])
      value(await fixture.control.setPool(operator, { name: 'gpu0', capacity }));
    const trailOf = async (of: string) =>
      value(await fixture.control.listAudit(OPERATOR, { org: of, action: 'pool' })).events;
    expect(await trailOf(other)).toEqual([]);
    const trail = await trailOf(org);
    for (const event of trail)
      expect(event).toMatchObject({ action: 'pool.set', actor: 'ctl (alice)', target: 'gpu0' });
    // Both are of the same moment, so neither comes first.
    expect(trail.map(({ details }) => details?.capacity).sort()).toEqual([80, 'no limit']);
  });

  it('refuses what can never run beside its always-on models, and never drops below what these take', async () => {
    value(await capacity(80));
    value(await publish('always', 'always_on', 30));
    const reason = 'it needs 51 of a capacity of 80, of which always-on models take 30.';
    const refused = { code: 'conflict', field: 'cost', message: expect.stringContaining(reason) };
    expect(refusal(await publish('large', 'wake_on_request', 51))).toMatchObject(refused);
    value(await publish('fits', 'wake_on_request', 50));
    const changed = await fixture.control.changeModel(OPERATOR, { org, name: 'fits', cost: 51 });
    expect(refusal(changed)).toMatchObject(refused);
    value(await fixture.control.changeModel(OPERATOR, { org, name: 'fits', cost: 20, pinned: true }));
    expect(await db().model.findFirst({ where: { name: 'fits' } })).toMatchObject({ cost: 20, pinned: true });
    expect(refusal(await capacity(29))).toMatchObject({ code: 'conflict', field: 'capacity' });
  });

  it('and what models take of it are for operators only, and models at URLs take nothing', async () => {
    const owner = await fixture.user(org, 'owner');
    for (const done of [
      await fixture.control.listPools(owner),
      await fixture.control.setPool(owner, { name: 'gpu0', capacity: 1 }),
    ])
      expect(refusal(done).code).toBe('forbidden');
    const elsewhere = { kind: 'text', mode: 'always_on', contextTokens: 1, urls: ['http://a'] } as const;
    const publication = { ...elsewhere, urls: [...elsewhere.urls], org, name: 'm' };
    expect(refusal(await fixture.control.publishModel(owner, { ...publication, cost: 1 })).code).toBe(
      'forbidden',
    );
    const atUrls = await fixture.control.publishModel(OPERATOR, { ...publication, cost: 1 });
    expect(refusal(atUrls)).toMatchObject({ code: 'invalid_input', field: 'cost' });
    value(await fixture.control.publishModel(owner, publication));
  });
});
