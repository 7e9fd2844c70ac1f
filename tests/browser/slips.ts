import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Standin, startStandin } from '@tidegate/standin';
import { eventually } from '@tidegate/testing';
import type { Locator, Page } from 'playwright-core';
import { expectAccessible } from '../support/browser.ts';
import { must, OPERATOR } from '../support/control.ts';
import { holdActions } from './hold-actions.ts';
import { confirm, focused, rowOf, type Site, TEST_TIMEOUT_MS, textOf, toastsOn, told } from './site.ts';

/** Playwright stops a page's clock only at a time in its future. */
const LATER_MS = 60_000;

/** Presses at once where the target is, whatever is there. */
async function pressAt(page: Page, target: Locator): Promise<void> {
  const box = await target.boundingBox();
  if (!box) throw new Error('it is not shown');
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
}

export function describeSlips(site: Site): void {
  describe('a slip of the hand', () => {
    it.each([
      ['keys', 'Create key', 'Name', 'Create key', 'API key', 'I have copied the key'],
      ['members', 'Invite', 'E-mail', 'Create link', 'Invitation link', 'Done'],
    ] as const)(
      'on %s, a second press of "%s", does not close what is shown once',
      async (screen, opener, label, make, shown, close) => {
        // A context of its own, because a clock stays installed.
        const { page } = await site.signedIn(site.owner(), { context: {} });
        await page.clock.install();
        await site.open(page, screen);
        await page.getByRole('button', { name: opener, exact: true }).click();
        const dialog = page.getByRole('dialog');
        await dialog.getByLabel(label).fill('pressed-twice@example.com');
        await page.clock.pauseAt(Date.now() + LATER_MS);
        await dialog.getByRole('button', { name: make }).click();
        await page.getByLabel(shown).waitFor();
        await pressAt(page, dialog.getByRole('button', { name: close }));
        await page.getByLabel(shown).focus();
        expect(await page.getByLabel(shown).inputValue()).toMatch(/^(ti_|http)/);
        await page.clock.resume();
        await dialog.getByRole('button', { name: close }).click();
        await dialog.waitFor({ state: 'detached' });
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'on a role saves nothing that was not confirmed, and the focus stays where it was',
      async () => {
        const org = await site.organization('Roles');
        const me = await site.person('owner', org);
        const others = [await site.person('owner', org), await site.person('member', org)];
        const { page, errors } = await site.signedIn(me);
        const roleOf = async (wanted: string) =>
          must(await site.control().listMembers(OPERATOR, { org })).find(({ email }) => email === wanted)
            ?.role;
        const choice = (email: string) => rowOf(page, email).getByRole('button', { name: /Role of/ });
        await site.open(page, 'members', org);
        await page.getByText('Members can open every screen and try models.').waitFor();
        await choice(me.email).click();
        await page.getByRole('option', { name: /Owner/ }).waitFor();
        await page.keyboard.press('Escape');
        await page.getByRole('option', { name: /Owner/ }).waitFor({ state: 'detached' });
        await choice(me.email).press('ArrowRight');
        await page.getByRole('alertdialog').getByText('Change your own role to member?').waitFor();
        await expectAccessible(page);
        await page.keyboard.press('Escape');
        await page.getByRole('alertdialog').waitFor({ state: 'detached' });
        expect(await textOf(choice(me.email))).toContain('Owner');
        expect(await roleOf(me.email)).toBe('owner');

        const [, member] = others.map(({ email }) => email);
        await choice(member ?? '').click();
        await page.getByRole('option', { name: /Owner/ }).click();
        await page.getByRole('alertdialog').getByText('delete the organization').waitFor();
        await confirm(page, 'Change role');
        await eventually(async () => (await roleOf(member ?? '')) === 'owner');
        await eventually(async () => (await textOf(choice(member ?? ''))).includes('Owner'));
        await eventually(
          async () =>
            (await page.evaluate('document.activeElement.textContent')) ===
            (await textOf(choice(member ?? ''))),
        );
        expect(errors).toEqual([]);
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'beside a form or on Escape does not throw away what was typed, or what is being saved',
      async () => {
        const { page } = await site.signedIn();
        await site.open(page, 'api');
        await page.getByRole('button', { name: 'Publish model' }).click();
        const dialog = page.getByRole('dialog');
        await dialog.getByLabel('Servers', { exact: true }).fill('http://127.0.0.1:9/v1');
        await page.mouse.click(5, 5);
        const name = dialog.getByLabel('Name', { exact: true });
        await name.fill('not-thrown-away');
        const release = await holdActions(page);
        const sent = page.waitForRequest((request) => 'next-action' in request.headers());
        await dialog.getByRole('button', { name: 'Publish model' }).click();
        await sent;
        await page.keyboard.press('Escape');
        await page.mouse.click(5, 5);
        expect(await dialog.getByRole('button', { name: 'Cancel' }).isDisabled()).toBe(true);
        expect(await dialog.getByRole('button', { name: 'Close' }).count()).toBe(0);
        await release();
        await dialog.getByRole('button', { name: 'Publish anyway' }).waitFor();
        expect(await name.inputValue()).toBe('not-thrown-away');
        await page.keyboard.press('Escape');
        await dialog.waitFor({ state: 'detached' });
      },
      TEST_TIMEOUT_MS,
    );
  });

  describe('what fails or is gone', () => {
    let standin: Standin;
    beforeAll(async () => {
      standin = await startStandin({ names: ['m'], contextTokens: 1_000 });
    });
    afterAll(() => standin.close());

    it(
      'is reported if the console cannot be reached, and does not take the focus or the palette with it',
      async () => {
        const org = await site.organization('Unreached');
        const model = { org, name: 'm', kind: 'text', mode: 'always_on', contextTokens: 1_000 } as const;
        must(await site.control().publishModel(OPERATOR, { ...model, urls: [`${standin.url}/v1`] }));
        must(await site.control().stopModel(OPERATOR, { org, name: 'm' }));
        const { page } = await site.signedIn(await site.person('owner', org));
        await site.open(page, 'api', org);
        const start = page.getByRole('button', { name: 'Start m' });
        await page.route('**/*', (route) =>
          route.request().method() === 'POST' ? route.abort() : route.continue(),
        );
        await start.click();
        await told(page, 'The console failed or could not be reached.');
        // A toast is not a dialog.
        await page.keyboard.press('Control+k');
        await page.getByRole('combobox', { name: /Screen, key/ }).waitFor();
        await page.keyboard.press('Escape');
        await page.unrouteAll({ behavior: 'wait' });
        await start.click();
        await page.getByRole('button', { name: 'Stop m' }).waitFor();
        await eventually(async () => (await focused(page)) === 'API');
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'is a warning, not a refusal, if it is done and not in force yet, and the dialog waits for it',
      async () => {
        const org = await site.organization('Not yet');
        await site.newKey('Doubtful', { org });
        const { page } = await site.signedIn(await site.person('owner', org));
        await site.open(page, 'keys', org);
        const dialog = page.getByRole('alertdialog');
        await page.getByRole('button', { name: 'Revoke Doubtful' }).click();
        site.stack().kill('limiter', 'SIGSTOP');
        try {
          await dialog.getByRole('button', { name: 'Revoke key' }).click();
          await page.keyboard.press('Escape');
          expect(await dialog.getByRole('button', { name: 'Cancel' }).isDisabled()).toBe(true);
          await dialog.getByText('The key is marked as revoked but may still be accepted').waitFor();
        } finally {
          site.stack().kill('limiter', 'SIGCONT');
        }
        expect(await dialog.getByRole('button').allTextContents()).toEqual(['Close']);
        await expectAccessible(page);
        await page.keyboard.press('Enter');
        await dialog.waitFor({ state: 'detached' });
        await rowOf(page, 'Doubtful').getByText('Revoked').waitFor();
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'is a warning that stays, if it is done and not in force yet, and no dialog is left to say so',
      async () => {
        const org = await site.organization('Not yet, either');
        const owner = await site.person('owner', org);
        await site.pageKey(owner, org);
        const { page } = await site.signedIn(owner);
        await page.goto(`${site.url()}/account`);
        const warning = page.getByText(`${owner.email} had a Try it key.`);
        site.stack().kill('limiter', 'SIGSTOP');
        try {
          await page.getByRole('button', { name: /^End the session of / }).click();
          await warning.waitFor();
        } finally {
          site.stack().kill('limiter', 'SIGCONT');
        }
        // A toast that only reports success goes away by itself.
        await told(page, 'The session has ended.');
        await page.getByText('The session has ended.').waitFor({ state: 'detached' });
        expect(await textOf(warning)).toContain('The key is marked as revoked but may still be accepted');
        await expectAccessible(page);
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'is a warning that stays, if a model is deleted and its runner cannot be told',
      async () => {
        const org = await site.organization('Not told');
        const model = { org, name: 'm', kind: 'text', mode: 'always_on', contextTokens: 1_000 } as const;
        const { id } = must(
          await site.control().publishModel(OPERATOR, { ...model, urls: [`${standin.url}/v1`] }),
        );
        const { page } = await site.signedIn(await site.person('owner', org));
        await site.open(page, `api/${id}`, org);
        await page.getByRole('button', { name: 'Delete', exact: true }).click();
        site.stack().kill('runner', 'SIGSTOP');
        try {
          await confirm(page, 'Delete model');
          await page.getByText('“m” is deleted. The runner is not available right now').waitFor();
        } finally {
          site.stack().kill('runner', 'SIGCONT');
        }
        await page.waitForURL(`**/o/${org}/api`);
        expect(await toastsOn(page)).not.toContain('Model deleted.');
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'is reported where it is missing: an organization, its first screen, events, a session',
      async () => {
        const { page } = await site.signedIn();
        const first = await page.request.get(`${site.url()}/o/demo`);
        expect([first.status(), new URL(first.url()).pathname]).toEqual([200, '/o/demo/keys']);
        await page.goto(`${site.url()}/o/nope/keys`);
        await eventually(async () => (await page.title()) === 'Not found · Tidegate');

        await site.open(page, 'audit?from=2026-01-02&to=2026-01-01');
        await page.getByRole('alert').getByText('From must not be after To.').waitFor();
        await site.open(page, 'audit?actor=nobody');
        await page.getByText('No event matches the filter').waitFor();
        expect(await page.getByRole('link', { name: 'Show all' }).getAttribute('href')).toBe('/o/demo/audit');

        await site.open(page, 'try');
        const temperature = page.getByLabel('temperature');
        await temperature.click();
        await page.keyboard.press('Control+a');
        await page.keyboard.type('1.05');
        expect(await temperature.inputValue()).toBe('1.05');
        await page.getByLabel('max_tokens').fill('');
        expect(await page.getByLabel('max_tokens').inputValue()).toBe('');
        await page.context().clearCookies();
        await page.getByLabel('Message', { exact: true }).fill('Anybody there?');
        await page.getByRole('button', { name: 'Send' }).click();
        const link = page.getByRole('link', { name: /^Sign in/ });
        expect(await link.getAttribute('href')).toBe('/sign-in?next=%2Fo%2Fdemo%2Ftry');
      },
      TEST_TIMEOUT_MS,
    );
  });
}
