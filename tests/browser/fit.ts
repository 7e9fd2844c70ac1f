import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Standin, startStandin } from '@tidegate/standin';
import { eventually } from '@tidegate/testing';
import { expectAccessible, expectInReach } from '../support/browser.ts';
import { must, OPERATOR } from '../support/control.ts';
import { PASSWORD, type Site, TEST_TIMEOUT_MS } from './site.ts';

const CONTEXT_TOKENS = 1_000;
const NAME_CHARACTERS = 80;
const MODEL_CHARACTERS = 128;
const WIDTHS = [360, 390, 768, 1024, 1280, 1440, 1920];
const WITHOUT_SPACES = 'W'.repeat(NAME_CHARACTERS);
const WITH_SPACES = 'The nightly reports of the northern harbour office, for the board and its guests';
const MODELS = [1, 2, 3, 4, 5].map((n) =>
  `${n}-organization/${'long-model-name'.repeat(9)}`.slice(0, MODEL_CHARACTERS),
);

/** Creates an organization in which everything has its maximum length and has been used. */
async function longOrganization(site: Site, modelUrl: string): Promise<string> {
  const control = site.control();
  const org = await site.organization('o'.repeat(NAME_CHARACTERS));
  for (const name of MODELS) {
    const how = { kind: 'text', mode: 'always_on', contextTokens: CONTEXT_TOKENS } as const;
    must(await control.publishModel(OPERATOR, { org, name, ...how, urls: [modelUrl] }));
  }
  await eventually(async () =>
    must(await control.listModels(OPERATOR, { org })).every(({ condition }) => condition === 'running'),
  );
  for (const name of [WITHOUT_SPACES, WITH_SPACES]) {
    const limits = { requestsPerMinute: 6_000, requestsAtOnce: 256, expiresOn: '2099-12-31' };
    const { key } = await site.newKey(name, { org, models: [...MODELS], ...limits });
    for (const model of MODELS) expect((await site.ask(key, { model })).status).toBe(200);
    expect((await site.ask(key, { model: MODELS[0] ?? '', content: '[[status=500]]' })).status).toBe(502);
    const email = `${name.slice(0, 60).replace(/\W/g, '-')}@${'long'.repeat(12)}.example.com`;
    for (const invited of [email, `open-${email.slice(5)}`])
      must(await control.createInvitation(OPERATOR, { org, email: invited, role: 'member' }));
    const { token } = must(await control.createInvitation(OPERATOR, { org, email, role: 'member' }));
    must(await control.acceptInvitation(null, { token, name, password: PASSWORD }));
  }
  must(await control.stopModel(OPERATOR, { org, name: MODELS[0] ?? '' }));
  const unused = await site.newKey('w'.repeat(NAME_CHARACTERS), { org });
  must(await control.revokeKey(OPERATOR, { org, id: unused.id }));
  return org;
}

export function describeFit(site: Site): void {
  describe('however long names are', () => {
    let standin: Standin;
    let org: string;
    beforeAll(async () => {
      standin = await startStandin({ names: MODELS, contextTokens: CONTEXT_TOKENS });
      org = await longOrganization(site, `${standin.url}/v1`);
    }, TEST_TIMEOUT_MS);
    afterAll(() => standin.close());

    it(
      'no action of a screen is cut off or covered, at any width',
      async () => {
        const { page } = await site.signedIn(await site.person('owner', org));
        const screens = ['keys', 'api', 'members', 'usage', 'requests', 'audit', 'plan', 'requests/errors'];
        for (const screen of screens) {
          await site.open(page, screen, org);
          await page
            .getByRole('table')
            .or(page.getByRole('list', { name: 'Plans' }))
            .first()
            .waitFor();
          for (const width of WIDTHS) {
            await page.setViewportSize({ width, height: 900 });
            await expectInReach(page);
            if (width !== 390) continue;
            // Scrolled, the screen's head is behind the bar above it.
            await page.evaluate('scrollTo(0, 0)');
            await expectAccessible(page);
          }
        }
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'the same figure of each plan, and each bar of a row, is at one height',
      async () => {
        must(await site.control().setOrgPlan(OPERATOR, { org, plan: 'Starter' }));
        const { page } = await site.signedIn(await site.person('owner', org));
        await site.open(page, 'plan', org);
        await page.getByText('In use on Starter').waitFor();
        const tops = (area: string, what: string): Promise<number[][]> =>
          page.evaluate(
            `[...document.querySelectorAll('${area}')].map((each) =>
              [...each.querySelectorAll('${what}')].map((one) => Math.round(one.getBoundingClientRect().top)))`,
          );
        for (const width of WIDTHS.filter((each) => each >= 768)) {
          await page.setViewportSize({ width, height: 900 });
          const plans = await tops('ul[aria-label="Plans"] > li', 'dd');
          const [bars = []] = await tops('section', '[aria-hidden].rounded-full');
          expect({ width, plans }).toEqual({ width, plans: [plans[0], plans[0], plans[0]] });
          expect(bars).toEqual([bars[0], bars[0], bars[2], bars[2]]);
        }
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'Try it is no wider than a phone',
      async () => {
        const looks = { viewport: { width: 375, height: 812 } };
        const { page } = await site.signedIn(await site.person('owner', org), looks);
        await site.open(page, 'try', org);
        await page.getByRole('button', { name: /Model$/ }).waitFor();
        await expectInReach(page);
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(375);
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'no action of a dialog is cut off',
      async () => {
        const { page } = await site.signedIn(await site.person('owner', org));
        for (const [screen, opener, role] of [
          ['keys', `Revoke ${WITHOUT_SPACES}`, 'alertdialog'],
          ['keys', 'Create key', 'dialog'],
          ['api', `Stop ${MODELS[1]}`, 'alertdialog'],
          ['members', 'Invite', 'dialog'],
          ['plan', 'Delete organization', 'alertdialog'],
        ] as const) {
          await site.open(page, screen, org);
          for (const width of [360, 1280]) {
            await page.setViewportSize({ width, height: 900 });
            await page.getByRole('button', { name: opener, exact: true }).click();
            await page.getByRole(role).waitFor();
            await expectInReach(page, `[role=${role}]`);
            await page.getByRole(role).getByRole('button', { name: 'Cancel' }).click();
            await page.getByRole(role).waitFor({ state: 'detached' });
          }
        }
      },
      TEST_TIMEOUT_MS,
    );
  });
}
