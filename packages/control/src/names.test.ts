import { beforeAll, describe, expect, it } from '@jest/globals';
import { LOCAL_POOL } from '@tidegate/contracts';
import { generousPlan, testClock } from '@tidegate/testing';
import { ownTestDb } from '@tidegate/testing/hooks';
import { createFixture, type Fixture, OPERATOR, refusal, value } from './fixture.ts';
import type { Result } from './result.ts';

const db = ownTestDb();
let fixture: Fixture;
let org: string;
beforeAll(async () => {
  fixture = createFixture(db(), testClock().now);
  // Only known pools are accepted.
  fixture.runner.pools = [LOCAL_POOL, 'plain', ...NAMES.map(([, name]) => name)];
  org = await fixture.org('Names');
});

const MODEL = { kind: 'text', mode: 'always_on', contextTokens: 1 } as const;
const PASSWORD = 'a-long-enough-password';

/** Operations that give something a name that people see. */
const OPERATIONS: readonly [string, string, (name: string) => Promise<Result<unknown>>][] = [
  [
    'bootstrap',
    'org',
    (name) => fixture.control.bootstrap(OPERATOR, { org: name, owner: 'ada@names.example' }),
  ],
  ['createOrg', 'name', (name) => fixture.control.createOrg(OPERATOR, { name, plan: 'Pro' })],
  ['setPlan', 'name', (name) => fixture.control.setPlan(OPERATOR, { name, ...generousPlan() })],
  ['createKey', 'name', (name) => fixture.control.createKey(OPERATOR, { org, name })],
  [
    'publishModel',
    'name',
    (name) => fixture.control.publishModel(OPERATOR, { org, name, ...MODEL, urls: ['http://127.0.0.1:9'] }),
  ],
  ['setPool', 'name', (name) => fixture.control.setPool(OPERATOR, { name, capacity: 1 })],
  [
    'acceptInvitation',
    'name',
    async (name) => {
      const invited = { org, email: 'ada@names.example', role: 'viewer' } as const;
      const { token } = value(await fixture.control.createInvitation(OPERATOR, invited));
      return fixture.control.acceptInvitation(null, { token, name, password: PASSWORD });
    },
  ],
  [
    'createInvitation',
    'email',
    (name) =>
      fixture.control.createInvitation(OPERATOR, { org, email: `${name}@names.example`, role: 'viewer' }),
  ],
  [
    'addMember',
    'email',
    (name) => fixture.control.addMember(OPERATOR, { org, email: `${name}@names.example`, role: 'viewer' }),
  ],
];
const NAMES = [
  ['an invisible character', 'ad\u200bmin'],
  ['a character that changes the direction of text', 'live\u202egnp'],
] as const;

describe('a name that people see', () => {
  it.each(
    OPERATIONS.flatMap(([operation, field, call]) =>
      NAMES.map(([what, name]) => ({ operation, field, call, what, name })),
    ),
  )('is refused by $operation if it has $what', async ({ field, call, name }) => {
    expect(refusal(await call(name))).toMatchObject({ code: 'invalid_input', field });
  });

  it.each(OPERATIONS)('is accepted by %s without such characters', async (_operation, _field, call) => {
    value(await call('plain'));
  });
});
