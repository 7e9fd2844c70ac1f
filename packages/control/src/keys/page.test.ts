import { beforeEach, describe, expect, it } from '@jest/globals';
import { ensureRequestPartitions } from '@tidegate/db';
import { eventually, testClock, waitingForLocks } from '@tidegate/testing';
import { ownTestDb } from '@tidegate/testing/hooks';
import { createFixture, type Fixture, OPERATOR, refusal, value } from '../fixture.ts';

const HOUR_MS = 3_600_000;

const db = ownTestDb();
let fixture: Fixture;
const clock = testClock();

beforeEach(() => {
  clock.set(Date.UTC(2026, 10, 21, 23, 30));
  fixture = createFixture(db(), clock.now);
});

const listed = async (org: string) => value(await fixture.control.listKeys(OPERATOR, { org }));

describe('a key that a page creates', () => {
  it('is listed with an end within the hour, may be tried, and is recorded with who created it', async () => {
    const org = await fixture.org('Page');
    const owner = await fixture.user(org, 'owner');
    const made = value(await fixture.pageKey(owner, org));
    const [key] = await listed(org);
    expect(key).toMatchObject({
      id: made.id,
      name: 'Try it',
      state: 'Active',
      expiresAt: '2026-11-22T00:30:00.000Z',
      requestsPerMinute: 20,
      requestsAtOnce: 2,
      expiresOn: '2026-11-22',
    });
    expect(value(await fixture.control.tryKey(owner, { org, key: made.key }))).toBe(true);
    expect(value(await fixture.control.showKey(OPERATOR, { org, id: made.id })).createdBy).toBe(owner.email);
    clock.advance(HOUR_MS);
    expect(value(await fixture.control.tryKey(owner, { org, key: made.key }))).toBe(false);
    expect((await listed(org))[0]?.state).toBe('Expired');
  });

  it('is revoked at the limiter and leaves the list when the page ends, which nobody else can bring about', async () => {
    const org = await fixture.org('Ends');
    const [owner, another] = [await fixture.user(org, 'owner'), await fixture.user(org, 'owner')];
    const { id } = value(await fixture.pageKey(owner, org));
    value(await fixture.control.endPageKey(another, { org, id }));
    expect(await listed(org)).toHaveLength(1);
    fixture.limiter.away = true;
    expect(refusal(await fixture.control.endPageKey(owner, { org, id })).code).toBe('unavailable');
    expect((await listed(org))[0]?.state).toBe('Revoked');
    fixture.limiter.away = false;
    value(await fixture.control.endPageKey(owner, { org, id }));
    expect(await listed(org)).toEqual([]);
    expect(fixture.limiter.revoked).toEqual([id]);
    expect(value(await fixture.control.endPageKey(owner, { org, id }))).toBeNull();
    const events = await db().auditEvent.findMany({ where: { target: id }, orderBy: { id: 'asc' } });
    expect(events.map(({ action, actor }) => [action, actor]).sort()).toEqual([
      ['key.create', owner.email],
      ['key.delete', owner.email],
      ['key.revoke', owner.email],
    ]);
  });

  it('ends no ordinary key', async () => {
    const org = await fixture.org('Ordinary');
    const owner = await fixture.user(org, 'owner');
    const { id } = value(await fixture.control.createKey(owner, { org, name: 'k' }));
    value(await fixture.control.endPageKey(owner, { org, id }));
    expect((await listed(org))[0]?.state).toBe('Active');
  });

  it('takes the place of the one before of the same person, and no other', async () => {
    const org = await fixture.org('Again');
    const [owner, another] = [await fixture.user(org, 'owner'), await fixture.user(org, 'owner')];
    const [first, theirs] = [
      value(await fixture.pageKey(owner, org)),
      value(await fixture.pageKey(another, org)),
    ];
    const second = value(await fixture.pageKey(owner, org));
    expect((await listed(org)).map(({ id }) => id).sort()).toEqual([theirs.id, second.id].sort());
    expect(fixture.limiter.revoked).toEqual([first.id]);
  });

  it('takes the place of one that another tab creates at the same moment', async () => {
    const org = await fixture.org('Tabs');
    const owner = await fixture.user(org, 'owner');
    // Both have ended earlier keys, and wait to create their own.
    const both = await db().$transaction(async (tx) => {
      await tx.$queryRaw`SELECT id FROM org WHERE slug = ${org} FOR UPDATE`;
      const making = [fixture.pageKey(owner, org), fixture.pageKey(owner, org)];
      await eventually(async () => (await waitingForLocks(db())) === 2);
      return { making };
    });
    const made = (await Promise.all(both.making)).map((result) => value(result).id);
    const left = (await listed(org)).map(({ id }) => id);
    expect(left).toHaveLength(1);
    expect([...left, ...fixture.limiter.revoked].sort()).toEqual(made.sort());
  });

  it('counts against the limit of the plan until it has ended', async () => {
    const org = await fixture.org('Full', 'Free');
    const owner = await fixture.user(org, 'owner');
    value(await fixture.pageKey(owner, org));
    const create = () => fixture.control.createKey(OPERATOR, { org, name: 'k' });
    value(await create());
    value(await create());
    expect(refusal(await create()).code).toBe('limit_reached');
    expect(refusal(await fixture.pageKey(await fixture.user(org, 'owner'), org)).code).toBe('limit_reached');
    clock.advance(HOUR_MS);
    value(await create());
    expect((await listed(org)).map(({ name }) => name)).toEqual(['k', 'k', 'k']);
  });

  it('is shown as one with all others of its kind in usage, requests and errors, deleted or not', async () => {
    const org = await fixture.org('Pages');
    const orgId = (await db().org.findUniqueOrThrow({ where: { slug: org } })).id;
    const owner = await fixture.user(org, 'owner');
    const gone = value(await fixture.pageKey(owner, org));
    const here = value(await fixture.pageKey(owner, org));
    const usual = value(await fixture.control.createKey(owner, { org, name: 'usual' }));
    const reservedAt = new Date(clock.now() - 1_000);
    const day = new Date('2026-11-21');
    await ensureRequestPartitions(db(), ['2026-11-21']);
    for (const [keyId, modelId] of [
      ...[gone.id, here.id].flatMap((id) => [[id, 'mdl_a'] as const, [id, 'mdl_b'] as const]),
      ...[[usual.id, 'mdl_a'] as const, ['key_deleted', 'mdl_a'] as const],
    ]) {
      const of = { orgId, keyId, modelId, day };
      const tokens = { promptTokens: 3, completionTokens: 4 };
      await db().usageDay.create({
        data: {
          ...of,
          ...tokens,
          requests: 1,
          errors: 1,
          unreportedTokens: 0,
          durationMsSum: 9,
          durationCount: 1,
        },
      });
      await db().request.create({
        data: {
          ...of,
          ...tokens,
          reservationId: `${keyId}${modelId}`.slice(-24),
          reservedAt,
          answered: false,
          errorCode: 'upstream_error',
          streamed: false,
          reservedTokens: 7,
          chargedTokens: 7,
        },
      });
    }
    const { rows } = value(await fixture.control.showUsage(OPERATOR, { org }));
    const ofPages = rows.filter(({ keyId }) => keyId === 'key_page');
    expect(ofPages.map(({ modelId }) => modelId).sort()).toEqual(['mdl_a', 'mdl_b']);
    expect(ofPages).toMatchObject(
      Array(2).fill({ key: 'Try it', keyPrefix: null, requests: 2, promptTokens: 6, averageMs: 9 }),
    );
    expect(rows.map(({ key }) => key).sort()).toEqual(['A deleted key', 'Try it', 'Try it', 'usual']);
    const only = value(await fixture.control.showUsage(OPERATOR, { org, keyId: 'key_page' }));
    expect(only.totals).toMatchObject({ requests: 4, completionTokens: 16 });
    const { keys } = value(await fixture.control.showErrors(OPERATOR, { org }));
    const [most, ...others] = keys.map(({ keyId, key, errors }) => [keyId, key, errors]);
    expect(most).toEqual(['key_page', 'Try it', 4]);
    // Of equal counts, the id decides, and that of the usual key is random.
    const equal = [
      ['key_deleted', 'A deleted key', 1],
      [usual.id, 'usual', 1],
    ];
    expect(others.sort()).toEqual(equal.sort());
    for (const modelId of [{}, { modelId: 'mdl_a' }]) {
      const filter = { org, keyId: 'key_page', ...modelId };
      const { requests } = value(await fixture.control.listRequests(OPERATOR, filter));
      expect(requests.map(({ key }) => key)).toEqual(Array('modelId' in modelId ? 2 : 4).fill('Try it'));
    }
  });

  it.each(['member', 'viewer'] as const)('is not created for a %s, who may create no key', async (role) => {
    const org = await fixture.org('Roles');
    const refused = await fixture.pageKey(await fixture.user(org, role), org);
    expect(refusal(refused).code).toBe('forbidden');
    expect(refusal(await fixture.control.createPageKey(OPERATOR, { org, session: 'ses_x' })).code).toBe(
      'forbidden',
    );
  });
});
