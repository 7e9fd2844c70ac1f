import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Standin, startStandin } from '@tidegate/standin';
import { eventually } from '@tidegate/testing';
import { must, OPERATOR } from '../support/control.ts';
import { holdActions } from './hold-actions.ts';
import { rowOf, type Site, TEST_TIMEOUT_MS, textOf, told } from './site.ts';

/** A name that reaches the site over plain http, which browsers do not trust. */
const ELSEWHERE = 'http://console.example';

export function describeTyped(site: Site): void {
  describe('what is typed or chosen', () => {
    let standin: Standin;
    beforeAll(async () => {
      standin = await startStandin({ names: ['slow-to-tell'], contextTokens: 1_000 });
    });
    afterAll(() => standin.close());

    it(
      'is sent once, however often Enter is pressed',
      async () => {
        const org = await site.organization('Once');
        const { page } = await site.signedIn(await site.person('owner', org));
        await site.open(page, 'members', org);
        await page.getByRole('button', { name: 'Invite', exact: true }).click();
        await page.getByLabel('E-mail').fill('eager@example.com');
        const answer = await holdActions(page);
        for (let i = 0; i < 3; i++) await page.keyboard.press('Enter');
        await answer();
        await page.getByLabel('Invitation link').waitFor();
        const link = await page.getByLabel('Invitation link').inputValue();
        await page.getByRole('button', { name: 'Done' }).click();
        await rowOf(page, 'eager@example.com').waitFor();
        const { events } = must(await site.control().listAudit(OPERATOR, { org, action: 'member' }));
        expect(events.filter(({ action }) => action === 'member.invite')).toHaveLength(1);
        expect((await page.request.get(link)).status()).toBe(200);
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'is sent once, even if it is sent again before its result is shown',
      async () => {
        const org = await site.organization('Once more');
        const { page } = await site.signedIn(await site.person('owner', org));
        await site.open(page, 'keys', org);
        await page.getByRole('button', { name: 'Create key' }).click();
        const dialog = page.getByRole('dialog');
        await dialog.getByLabel('Name').fill('Only one');
        // As if Enter was held down, at every turn of the page.
        await page.evaluate(`{
          const form = document.querySelector('[role=dialog] form');
          const { port1, port2 } = new MessageChannel();
          port1.onmessage = () => {
            if (!form.isConnected) return;
            form.requestSubmit();
            port2.postMessage(null);
          };
          port2.postMessage(null);
        }`);
        await page.getByLabel('API key').waitFor();
        expect(must(await site.control().listKeys(OPERATOR, { org }))).toHaveLength(1);
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'is kept when a message is refused while the next is written',
      async () => {
        const { page } = await site.signedIn();
        await site.open(page, 'try');
        let refuse = () => {};
        const asked = new Promise<void>((resolve) => {
          refuse = resolve;
        });
        await page.route('**/try/chat', async (route) => {
          await asked;
          await route.fulfill({ status: 413 });
        });
        const message = page.getByLabel('Message', { exact: true });
        await message.fill('The first');
        await message.press('Enter');
        await page.getByRole('button', { name: 'Stop' }).waitFor();
        await message.fill('The second');
        refuse();
        await page.getByText('This message is too large for the console.').waitFor();
        expect(await message.inputValue()).toBe('The first\n\nThe second');
      },
      TEST_TIMEOUT_MS,
    );

    it.each([
      ['for a key of the page', '**/o/demo/try', 'The console failed or could not be reached.'],
      ['for an answer', '**/o/demo/try/chat', 'The console could not be reached.'],
    ])(
      'is kept when the console cannot be reached %s',
      async (_what, path, why) => {
        const { page } = await site.signedIn();
        await site.open(page, 'try');
        await page.route(path, (route) => route.abort());
        const message = page.getByLabel('Message', { exact: true });
        await message.fill('Anybody there?');
        await message.press('Enter');
        await page.getByText(why).waitFor();
        expect(await message.inputValue()).toBe('Anybody there?');
        expect(await page.getByText('Anybody there?').count()).toBe(1);
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'is cleared from a filter when a link shows all',
      async () => {
        const { page } = await site.signedIn();
        await site.open(page, 'audit?action=key');
        await page.getByRole('link', { name: 'Show all' }).click();
        await page.waitForURL('**/o/demo/audit');
        await page.getByRole('link', { name: 'Show all' }).waitFor({ state: 'detached' });
        expect(await page.getByLabel('What').inputValue()).toBe('');
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'is named by a filter: a key without requests, a page key, and a key that does not exist',
      async () => {
        const org = await site.organization('Names');
        const owner = await site.person('owner', org);
        const key = await site.newKey('Unused', { org });
        await site.pageKey(owner, org);
        const keys = must(await site.control().listKeys(OPERATOR, { org }));
        const pageKey = keys.find(({ expiresAt }) => expiresAt !== null)?.id ?? '';
        const ofPage = `Try it (…${pageKey.slice(-4)})`;
        const { page } = await site.signedIn(owner);
        const none = page.getByText('There is no key with this id.');
        const choice = page.getByRole('button', { name: /Key$/ });
        for (const [id, name] of [
          [key.id, `Unused · ${key.prefix}…`],
          [pageKey, ofPage],
          ['nope', 'No such key'],
        ] as const) {
          await site.open(page, `usage?key=${id}`, org);
          await eventually(async () => (await textOf(choice)).includes(name));
          expect(await none.count()).toBe(id === 'nope' ? 1 : 0);
          await choice.click();
          await page.getByRole('option', { name }).waitFor();
        }
        await site.open(page, 'usage?model=nope', org);
        await page.getByText('There is no model with this id.').waitFor();
        const chosen = page.locator('select[name=key] option:checked');
        await site.open(page, `requests?key=${pageKey}`, org);
        expect(await textOf(chosen)).toBe(ofPage);
        await site.open(page, 'requests?key=nope', org);
        expect(await textOf(chosen)).toBe('Unknown or deleted: nope');
        await none.waitFor();
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'is not replaced by a late answer of servers that were typed before',
      async () => {
        const { page } = await site.signedIn();
        await site.open(page, 'api');
        await page.getByRole('button', { name: 'Publish model' }).click();
        const dialog = page.getByRole('dialog');
        const servers = dialog.getByLabel('Servers', { exact: true });
        await servers.fill(`${standin.url}/v1`);
        const answer = await holdActions(page);
        const test = dialog.getByRole('button', { name: 'Test the connection' });
        const told = page.waitForResponse((response) => 'next-action' in response.request().headers());
        await test.click();
        await servers.fill('http://127.0.0.1:9/v1');
        await answer();
        await told;
        await eventually(async () => (await test.getAttribute('data-pending')) === null);
        expect(await dialog.getByLabel('Name', { exact: true }).inputValue()).toBe('');
        expect(await textOf(dialog)).not.toContain('Reached');
      },
      TEST_TIMEOUT_MS,
    );
  });

  describe('the sign-in', () => {
    it(
      'has a sign-out that is reported to have failed if the console cannot be reached',
      async () => {
        const { page } = await site.signedIn();
        await site.open(page, 'plan');
        await page.getByRole('button', { name: site.owner().email }).click();
        await page.route('**/*', (route) =>
          route.request().method() === 'POST' ? route.abort() : route.continue(),
        );
        await page.getByRole('menuitem', { name: 'Sign out' }).click();
        await told(page, 'You could not be signed out');
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'says that it works only at the address of the console',
      async () => {
        const { page } = await site.visit();
        const wrong = page.getByText('Signing in works only at');
        await page.goto(`${site.url()}/sign-in`);
        await page.getByLabel('E-mail').waitFor();
        await page.route(`${ELSEWHERE}/**`, async (route) => {
          const url = route.request().url().replace(ELSEWHERE, site.url());
          await route.fulfill({ response: await route.fetch({ url }) });
        });
        expect(await wrong.count()).toBe(0);
        await page.goto(`${ELSEWHERE}/sign-in`);
        await wrong.waitFor();
        expect(await page.getByRole('link', { name: site.url() }).count()).toBe(1);
      },
      TEST_TIMEOUT_MS,
    );
  });
}
