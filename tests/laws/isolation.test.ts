import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newApiKey, randomBase62 } from '@tidegate/contracts';
import { type Actor, type Control, limiterOverGrpc, runnerOverGrpc } from '@tidegate/control';
import type { Db } from '@tidegate/db';
import { eventually } from '@tidegate/testing';
import { signInByForm } from '../support/console.ts';
import { ctlVariables, must, OPERATOR, type OpenControl, openControl } from '../support/control.ts';
import { type Call, call, MODELS, open, readAnswer } from '../support/http.ts';
import { ask, post } from '../support/org.ts';
import { usageOf, useSharedStack } from '../support/stack.ts';
import { describeLeaving } from './isolation/leaving.ts';
import { NAMING, outcome, type Target, WITHIN_ORG, type WithinOrg } from './isolation/operations.ts';
import { ORG_PAGES, type Visitor, visit } from './isolation/screens.ts';
import {
  newMark,
  newTestOrg,
  ownModelOf,
  SHARED_MODEL,
  type TestOrg,
  tracesOf,
} from './isolation/test-orgs.ts';

const MIB = 1024 * 1024;

describe('two organizations', () => {
  const stack = useSharedStack();
  const base = () => stack().info.gateway;
  let managed: OpenControl;
  let control: Control;
  let db: Db;
  let one: TestOrg;
  let other: TestOrg;

  beforeAll(async () => {
    managed = openControl(stack());
    ({ control, db } = managed);
    [one, other] = await Promise.all([newTestOrg(control, base()), newTestOrg(control, base())]);
  });
  afterAll(async () => {
    await managed?.close();
    await Promise.all([one, other].map((testOrg) => testOrg?.standin.close()));
  });

  const expectNoTrace = (text: string, of: TestOrg, where: string) =>
    expect({ where, found: tracesOf(of).filter((trace) => text.includes(trace)) }).toEqual({
      where,
      found: [],
    });

  describe('through the API [auth.reach] [service.reach]', () => {
    it('have each key list what it may call of its own organization, and no more [auth.list]', async () => {
      const listed = async ({ key }: { key: string }) => {
        const { json } = await call(base(), { key, method: 'GET', target: MODELS });
        return (json as { data: { id: string }[] }).data.map(({ id }) => id).sort();
      };
      for (const testOrg of [one, other]) {
        expect(await listed(testOrg.key)).toEqual([testOrg.ownModel, SHARED_MODEL].sort());
        expect(await listed(testOrg.narrowKey)).toEqual([SHARED_MODEL]);
      }
    });

    it('with a model of the same name are each answered by their own, counted and limited there alone', async () => {
      const calls = () => [one, other].map(({ standin }) => standin.stats().calls);
      const remaining = async ({ key }: TestOrg) => {
        const answer = await post(base(), key.key, ask(SHARED_MODEL, 'x'));
        expect(answer.status).toBe(200);
        return Number(answer.headers.get('x-ratelimit-remaining-requests'));
      };
      const [callsOfOne = 0, callsOfOther = 0] = calls();
      const { totals } = await usageOf(stack(), other.slug);
      const before = await remaining(other);
      for (let i = 0; i < 5; i++) await remaining(one);
      expect(calls()).toEqual([callsOfOne + 5, callsOfOther + 1]);
      // Only its own request counts, and none of the other organization's.
      expect(await remaining(other)).toBeGreaterThanOrEqual(before - 1);
      expect((await usageOf(stack(), other.slug)).totals.requests).toBeLessThanOrEqual(totals.requests + 2);
    });

    it('get the same answer, to the byte, for a foreign model, a forbidden one and a missing one [auth.restricted]', async () => {
      const image = [{ type: 'image_url', image_url: { url: 'data:image/gif;base64,R0lGODlhAQABAAAAACw=' } }];
      const bodies = [
        {},
        { stream: true },
        { max_tokens: 8192 },
        { messages: [{ role: 'user', content: image }] },
        { messages: [{ role: 'user', content: 'x'.repeat(3 * MIB) }] },
      ];
      const names = [one.ownModel, other.ownModel, ownModelOf(newMark())];
      for (const more of bodies) {
        const answers: string[] = [];
        for (const name of names)
          answers.push(await said({ key: other.narrowKey.key, body: ask(name, 'x', more) }, name));
        expect(answers[0]).toContain('model_not_found');
        expect(answers).toEqual(names.map(() => answers[0]));
      }
    });

    it('get the same answer for an unknown key, whether its organization exists or not', async () => {
      const tags = [one.id.slice('org_'.length), 'x'.repeat(12)];
      const [known, unknown] = await Promise.all(
        tags.map((tag) => said({ key: newApiKey(tag).value, method: 'GET', target: MODELS }, tag)),
      );
      expect(known).toContain('invalid_api_key');
      expect(known).toBe(unknown);
    });

    /** An answer as received, without its request id, its date and the requested name. */
    async function said(request: Call, name: string): Promise<string> {
      const message = await open(base(), request);
      const { text } = await readAnswer(message);
      const fields = message.rawHeaders.map((field, i) =>
        /^(date|x-request-id)$/i.test(message.rawHeaders[i - 1] ?? '') ? '' : field,
      );
      return [message.statusCode, ...fields, text].join('\n').replaceAll(name, 'NAME');
    }
  });

  describe('to someone who belongs to the other', () => {
    let stranger: Actor;

    beforeAll(async () => {
      const ownerOf = async ({ owner: { email } }: TestOrg): Promise<Actor> => {
        const { id: userId } = await db.user.findUniqueOrThrow({ where: { email } });
        return { kind: 'user', userId, email };
      };
      stranger = await ownerOf(other);
      const email = `guest-${one.mark}@example.com`;
      must(await control.createInvitation(await ownerOf(one), { org: one.slug, email, role: 'viewer' }));
    });
    async function targetOf({ id, slug, ownModel, key, owner }: TestOrg): Promise<Target> {
      const model = await db.model.findFirstOrThrow({ where: { orgId: id, name: ownModel } });
      const invitation = await db.invitation.findFirstOrThrow({ where: { orgId: id } });
      const event = await db.auditEvent.findFirstOrThrow({ where: { orgId: id } });
      const request = await eventually(() => db.request.findFirst({ where: { orgId: id } }));
      return {
        org: slug,
        keyId: key.id,
        keyValue: key.key,
        model: ownModel,
        modelId: model.id,
        email: owner.email,
        invitationId: invitation.id,
        eventId: event.id,
        requestId: request.reservationId,
      };
    }
    /** The same kinds of names, but of nothing that exists. */
    const madeUp = (target: Target): Target =>
      Object.fromEntries(
        Object.entries(target).map(([name, value]: [string, string]) => [
          name,
          value.includes(one.mark)
            ? value.replace(one.mark, newMark())
            : `${value.slice(0, -8)}${randomBase62(8)}`,
        ]),
      ) as unknown as Target;
    const stateOf = async (testOrg: TestOrg) => {
      const all = { org: testOrg.slug };
      return Promise.all([
        control.listKeys(OPERATOR, all),
        control.listModels(OPERATOR, all),
        control.listMembers(OPERATOR, all),
        control.listInvitations(OPERATOR, all),
        control.listAudit(OPERATOR, all),
        // Other tests may create theirs meanwhile.
        control
          .listOrgs(OPERATOR)
          .then((listed) => listed.ok && listed.value.filter(({ id }) => id === testOrg.id)),
      ]);
    };

    /**
     * Waits until earlier requests change nothing any more: gateways report nothing in flight, and
     * the times of last use are written.
     */
    const restingStateOf = async (testOrg: TestOrg) => {
      const usedFrom = new Date();
      for (const { key } of [testOrg.key, testOrg.narrowKey])
        await call(base(), { key, method: 'GET', target: MODELS });
      // The limiter writes uses in order, so none of an earlier request is written after these.
      const where = { orgId: testOrg.id, lastUsedAt: { gte: usedFrom } };
      await eventually(async () => (await db.apiKey.count({ where })) === 2);
      let last = '';
      return eventually(
        async () => {
          const state = await stateOf(testOrg);
          const [, models] = state;
          const resting = models.ok && models.value.every(({ inFlight }) => inFlight === 0);
          const unchanged = JSON.stringify(state) === last;
          last = JSON.stringify(state);
          return resting && unchanged && state;
        },
        { intervalMs: 500 },
      );
    };

    it('every operation on the other organization does nothing, and ends as on one that does not exist', async () => {
      const foreign = await targetOf(one);
      const before = await restingStateOf(one);
      for (const operation of Object.keys(WITHIN_ORG) as WithinOrg[]) {
        for (const org of [one.slug, one.id]) {
          const target = { ...foreign, org };
          const there = await outcome(control, stranger, operation, target);
          expect({ operation, there }).toEqual({ operation, there: expect.stringContaining('"not_found"') });
          expect({ operation, there }).toEqual({
            operation,
            there: await outcome(control, stranger, operation, madeUp(target)),
          });
        }
      }
      expect(await stateOf(one)).toEqual(before);
    });

    it("every operation in their own organization on the other's things ends as on things that do not exist", async () => {
      const foreign = { ...(await targetOf(one)), org: other.slug };
      const before = await restingStateOf(one);
      for (const operation of NAMING) {
        const there = await outcome(control, stranger, operation, foreign);
        const nowhere = await outcome(control, stranger, operation, { ...madeUp(foreign), org: other.slug });
        expect({ operation, there }).toEqual({ operation, there: nowhere });
        expectNoTrace(there, one, operation);
      }
      expect(await stateOf(one)).toEqual(before);
    });

    it('whatever they may list shows nothing of the other', async () => {
      const org = { org: other.slug };
      const user = stranger as Actor & { readonly kind: 'user' };
      const seen = {
        orgs: await control.listOrgs(stranger),
        memberships: await control.listMemberships(user),
        plans: await control.listPlans(stranger),
        state: await stateOf(other).then(([keys, models, members, invitations, audit]) => [
          keys,
          models,
          members,
          invitations,
          audit,
        ]),
        usage: await control.showUsage(stranger, org),
      };
      expect(JSON.stringify(seen)).toContain(other.mark);
      for (const [what, value] of Object.entries(seen)) expectNoTrace(JSON.stringify(value), one, what);
      const plan = { name: 'Mine', keys: 1, requestsPerMonth: 1, requestsPerMinute: 1 };
      for (const refused of [
        await control.createOrg(stranger, { name: 'Mine' }),
        await control.setPlan(stranger, plan),
      ])
        expect(refused).toMatchObject({ ok: false, refusal: { code: 'forbidden' } });
    });
  });

  describe('inside the installation', () => {
    it('are hidden from a program that reaches limiter and runner but is not a service', async () => {
      const { LIMITER_ADDRESSES = '', RUNNER_ADDRESS = '' } = ctlVariables(stack());
      for (const token of [null, 'x'.repeat(32)]) {
        const limiter = limiterOverGrpc(LIMITER_ADDRESSES.split(','), { token, tls: null });
        const addresses = [{ pool: 'local', address: RUNNER_ADDRESS }];
        const runner = runnerOverGrpc(addresses, { token, tls: null });
        const unauthenticated = { code: 16, details: expect.stringContaining('SERVICE_TOKEN') };
        // A busy machine may answer after the deadline.
        await eventually(async () => {
          await expect(limiter.month(one.id)).rejects.toMatchObject(unauthenticated);
          await expect(runner.activity(one.id)).rejects.toMatchObject(unauthenticated);
          return true;
        });
        limiter.close();
        runner.close();
      }
    });
  });

  describe('in the console', () => {
    let visitor: Visitor;

    beforeAll(async () => {
      const site = stack().info.console ?? '';
      const cookie = await signInByForm(site, other.owner);
      if (!cookie) throw new Error('not let in');
      visitor = { site, cookie };
    });

    it.each(ORG_PAGES)('%s of the other organization is a page that does not exist', async (screen) => {
      const [foreign, absent] = await Promise.all(
        [one.slug, `org-${newMark()}`].map((slug) => visit(visitor, `/o/${slug}/${screen}`)),
      );
      expect([foreign?.status, absent?.status]).toEqual([404, 404]);
      // The page may contain the requested address.
      expectNoTrace((foreign?.text ?? '').replaceAll(one.slug, ''), one, screen);
    });

    it.each(ORG_PAGES)("%s of one's own organization shows nothing of the other", async (screen) => {
      const { status, text } = await visit(visitor, `/o/${other.slug}/${screen}`);
      expect(status).toBe(200);
      expectNoTrace(text, one, screen);
    });

    it('no request is passed on for the other organization', async () => {
      const before = one.standin.stats().calls;
      for (const slug of [one.slug, `org-${newMark()}`]) {
        const init = { method: 'POST', body: JSON.stringify(ask(SHARED_MODEL, 'x')) };
        expect((await visit(visitor, `/o/${slug}/try/chat`, init)).status).toBe(404);
      }
      expect(one.standin.stats().calls).toBe(before);
    });
  });

  describeLeaving(() => ({ stack: stack(), control, db, other }));
});
