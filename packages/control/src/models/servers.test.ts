import { beforeEach, describe, expect, it } from '@jest/globals';
import { eventually, testClock, waitingForLocks } from '@tidegate/testing';
import { ownTestDb } from '@tidegate/testing/hooks';
import type { Actor } from '../access/access.ts';
import { createFixture, type Fixture, OPERATOR, refusal, value } from '../fixture.ts';
import { MOST_SERVERS } from './servers.ts';

const A_MODEL = 64;

const db = ownTestDb();
let fixture: Fixture;
let org: string;
let owner: Actor;
beforeEach(async () => {
  fixture = createFixture(db(), testClock().now);
  org = await fixture.org('Servers');
  owner = await fixture.user(org, 'owner');
});

const urls = (count: number) => Array.from({ length: count }, (_, i) => `http://gpu${i}:8000`);
const publish = (name: string, servers: number, actor = owner) =>
  fixture.control.publishModel(actor, {
    org,
    name,
    kind: 'text',
    mode: 'always_on',
    contextTokens: 4_096,
    urls: urls(servers),
  });
const change = (name: string, servers: number, actor = owner) =>
  fixture.control.changeModel(actor, { org, name, urls: urls(servers) });

/** Publishes models that leave room for this many servers. */
async function leaveRoom(servers: number): Promise<void> {
  const models = MOST_SERVERS / A_MODEL;
  for (let n = 1; n < models; n++) value(await publish(`full-${n}`, A_MODEL));
  value(await publish('last', A_MODEL - servers));
}

describe("an organization's owners", () => {
  it('publish models at as many servers as the runner should probe, and no more', async () => {
    await leaveRoom(2);
    expect(refusal(await publish('three', 3))).toEqual({
      code: 'limit_reached',
      field: 'urls',
      message:
        'An organization has at most 256 model servers, and the other models have 254: delete one first, or ask an operator.',
    });
    value(await publish('two', 2));
    expect(refusal(await publish('one', 1)).code).toBe('limit_reached');
    value(await fixture.control.deleteModel(owner, { org, name: 'full-1' }));
    value(await publish('one', 1));
  });

  it('do not get more servers by a change, and may always have fewer', async () => {
    await leaveRoom(2);
    value(await publish('m', 1));
    expect(refusal(await change('m', 3))).toMatchObject({ code: 'limit_reached', field: 'urls' });
    value(await change('m', 2));
    value(await publish('more', A_MODEL, OPERATOR));
    value(await change('full-1', A_MODEL - 1));
    value(await fixture.control.changeModel(owner, { org, name: 'm', contextTokens: 8_192 }));
    expect(refusal(await change('full-1', A_MODEL)).code).toBe('limit_reached');
  });

  it('do not exceed the limit by publishing at once', async () => {
    await leaveRoom(1);
    const answers = await db().$transaction(async (tx) => {
      await tx.$queryRaw`SELECT id FROM org WHERE slug = ${org} FOR UPDATE`;
      const both = ['a', 'b'].map((name) => publish(name, 1));
      await eventually(async () => (await waitingForLocks(db())) === both.length);
      return both;
    });
    expect((await Promise.all(answers)).filter(({ ok }) => ok)).toHaveLength(1);
  });

  it('have more if an operator publishes them', async () => {
    await leaveRoom(1);
    value(await publish('m', A_MODEL, OPERATOR));
    value(await change('m', 1, OPERATOR));
    value(await change('m', A_MODEL, OPERATOR));
  });
});
