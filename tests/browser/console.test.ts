import { describe, expect, it } from '@jest/globals';
import type { Actor } from '@tidegate/control';
import { eventually } from '@tidegate/testing';
import { expectAccessible, signIn } from '../support/browser.ts';
import { must, OPERATOR } from '../support/control.ts';
import { describeAttention } from './attention.ts';
import { describeCsv } from './csv.ts';
import { describeDetail } from './detail.ts';
import { describeFirstModel } from './first-model.ts';
import { describeFit } from './fit.ts';
import { describeGuide } from './guide.ts';
import { describeKeyboard } from './keyboard.ts';
import { describeLeaving } from './leaving.ts';
import { describeLongLists } from './long-lists.ts';
import { describeRequests } from './requests.ts';
import {
  confirm,
  createKey,
  focused,
  pressCopy,
  rowOf,
  TEST_TIMEOUT_MS,
  textOf,
  told,
  useSite,
} from './site.ts';
import { describeSlips } from './slips.ts';
import { describeTyped } from './typed.ts';
import { describeUsage } from './usage.ts';

const REFUSED = { tokens: { in: 0, out: 0 } };
const site = useSite();
const demoKey = () => site.stack().info.apiKey ?? '';

describe('an owner', () => {
  it(
    'creates a key with the keyboard alone, sees and copies its value once, and watches it being used, revoked and deleted [key.list.expires] [key.list.last-used] [key.list.limits] [key.list.may-call] [key.list.name] [key.list.state] [key.name.shown] [key.value.once] [key.value.prefix] [management.console] [state.key.deleted] [state.key.revoked.listed] [state.key.revoked.owner] [usage.deleted-key]',
    async () => {
      const { page, errors } = await site.signedIn();
      // Chromium refuses every other permission from then on.
      await page.context().grantPermissions(['geolocation']);
      await site.open(page, 'keys');
      await page.getByRole('button', { name: 'Create key' }).press('Enter');
      await page.keyboard.type('Journey');
      await page.keyboard.press('Enter');
      await page.getByText('it is shown only once').waitFor();
      const key = await page.getByLabel('API key').inputValue();
      for (const tab of ['curl', 'Python', 'JavaScript']) {
        await page.getByRole('tab', { name: tab }).click();
        expect(await textOf(page.getByRole('tabpanel').locator('pre'))).toContain(key);
      }
      await pressCopy(page.getByRole('button', { name: 'Copy the key' }), 'Copy it by hand');
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      await pressCopy(page.getByRole('button', { name: 'Copy the key' }), 'Copied');
      expect(await page.evaluate('navigator.clipboard.readText()')).toBe(key);
      await expectAccessible(page);
      await page.getByRole('button', { name: 'I have copied the key' }).press('Enter');
      expect(key).toMatch(/^ti_/);
      await eventually(async () => (await focused(page)) === 'Create key');
      const row = rowOf(page, 'Journey');
      await row.waitFor();
      const text = await textOf(row);
      for (const part of [key.slice(0, 9), 'Active', 'All models', '60/min · 4 at once', 'Never'])
        expect(text).toContain(part);
      expect(await page.content()).not.toContain(key);

      expect((await site.ask(key)).status).toBe(200);
      await eventually(async () => /just now/.test(await textOf(row)));

      await row.getByRole('button', { name: 'Revoke Journey' }).click();
      await page.getByRole('alertdialog').getByText('From the next request on').waitFor();
      await confirm(page, 'Revoke key');
      expect(await site.ask(key)).toEqual({ ...REFUSED, status: 401, code: 'invalid_api_key' });
      await eventually(async () => (await textOf(row)).includes('Revoked'));

      await row.getByRole('button', { name: 'Delete Journey' }).click();
      await confirm(page, 'Delete key');
      await row.waitFor({ state: 'detached' });
      // The button that had the focus is gone.
      await eventually(async () => (await focused(page)) === 'Keys');
      await site.open(page, 'usage');
      await page.getByRole('rowheader', { name: 'A deleted key' }).first().waitFor();
      expect(errors).toEqual([]);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'stops and starts a model, and sees its condition change by itself [state.model.stopped.start]',
    async () => {
      const { page } = await site.signedIn();
      const apiKey = demoKey();
      await site.open(page, 'api');
      const row = rowOf(page, 'demo-text');
      await row.getByRole('button', { name: 'Stop demo-text' }).click();
      await confirm(page, 'Stop model');
      await row.getByText('Stopped').waitFor();
      expect(await site.ask(apiKey)).toEqual({ ...REFUSED, status: 503, code: 'model_unavailable' });
      await row.getByRole('button', { name: 'Start demo-text' }).click();
      await row.getByText('Running').waitFor();
      await eventually(async () => (await site.ask(apiKey)).status === 200);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'changes the plan, in force at the next request, and sees it in the audit',
    async () => {
      const { page } = await site.signedIn();
      const apiKey = demoKey();
      const image =
        'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
      const askWithImage = async () => {
        const content = [{ type: 'image_url', image_url: { url: image } }];
        const response = await fetch(`${site.stack().info.gateway}/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model: 'demo-vision', messages: [{ role: 'user', content }] }),
        });
        return response.status;
      };
      const changeTo = async (plan: string) => {
        await site.open(page, 'plan');
        await page.getByRole('button', { name: `Change to ${plan}` }).click();
        await confirm(page, 'Change plan');
        await told(page, 'The new limits are in force.');
        const current = page
          .getByRole('list', { name: 'Plans' })
          .getByRole('listitem')
          .filter({ hasText: 'Current' });
        expect(await textOf(current.getByRole('heading'))).toBe(plan);
      };
      await changeTo('Starter');
      expect(await askWithImage()).toBe(403);
      await changeTo('Pro');
      expect(await askWithImage()).toBe(200);
      await site.open(page, 'audit');
      await rowOf(page, 'Changed the plan Starter').waitFor();
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'finds in the audit who did what and when, and no secret',
    async () => {
      const org = await site.organization('Audited');
      const account = await site.person('owner', org);
      const control = site.control();
      const [member] = must(await control.listMembers(OPERATOR, { org }));
      const self: Actor = { kind: 'user', userId: member?.userId ?? '', email: account.email };
      const { id, key } = must(await control.createKey(self, { org, name: 'Watched' }));
      must(await control.revokeKey(self, { org, id }));
      must(await control.deleteKey(self, { org, id }));
      const where = { urls: ['http://127.0.0.1:9/v1'], contextTokens: 100, upstreamKey: 'upstream-secret' };
      const model = { org, name: 'far' };
      must(await control.publishModel(self, { ...model, kind: 'text', mode: 'always_on', ...where }));
      must(await control.stopModel(self, model));
      must(await control.startModel(self, model));
      must(await control.deleteModel(self, model));
      must(await control.setOrgPlan(OPERATOR, { org, plan: 'Starter' }));
      const { page } = await site.signedIn(account);
      await site.open(page, 'audit', org);
      for (const what of [
        ...['Created key Watched', 'Revoked key Watched', 'Deleted key Watched', 'Published model far'],
        ...['Asked to stop model far', 'Asked to start model far', 'Deleted model far'],
      ]) {
        const event = await textOf(rowOf(page, what));
        expect(event).toContain(account.email);
        expect(event).toMatch(/\d\d:\d\d UTC/);
      }
      await rowOf(page, 'Changed the plan Starter').waitFor();
      const all = await page.content();
      for (const secret of [key, 'upstream-secret']) expect(all).not.toContain(secret);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'changes the password, which ends the other sessions, and signs out everywhere',
    async () => {
      const account = await site.person('owner');
      const [here, there] = [await site.visit(), await site.visit()];
      for (const { page } of [here, there]) await signIn(page, site.url(), account);
      await here.page.goto(`${site.url()}/account`);
      await here.page.getByLabel('Current password').fill('not the password');
      await here.page.getByLabel('New password').fill('another-long-password');
      await here.page.getByRole('button', { name: 'Change password' }).click();
      await here.page.getByText('This is not your current password.').waitFor();
      await here.page.getByLabel('Current password').fill(account.password);
      await here.page.getByRole('button', { name: 'Change password' }).click();
      await told(here.page, 'Password changed.');
      await site.open(there.page, 'keys');
      expect(new URL(there.page.url()).pathname).toBe('/sign-in');
      await signIn(there.page, site.url(), { ...account, password: 'another-long-password' });
      await there.page.goto(`${site.url()}/account`);
      await there.page.getByRole('button', { name: 'Sign out everywhere' }).click();
      await there.page.getByRole('alertdialog').getByText('All your sessions end').waitFor();
      await expectAccessible(there.page);
      await there.page.getByRole('button', { name: 'Cancel' }).click();
      await there.page.getByRole('alertdialog').waitFor({ state: 'detached' });
      await there.page.reload();
      await there.page.getByRole('button', { name: 'Sign out everywhere' }).click();
      await there.page.getByRole('button', { name: 'End all sessions' }).click();
      await there.page.waitForURL('**/sign-in');
      await site.open(here.page, 'keys');
      expect(new URL(here.page.url()).pathname).toBe('/sign-in');
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'is told that the plan has room for one more key, and then for none, before being refused',
    async () => {
      const org = await site.organization('Harbour', 'Free');
      const account = await site.person('owner', org);
      const { page } = await site.signedIn(account);
      await site.open(page, 'keys', org);
      await page.getByText('No keys yet').waitFor();
      for (const name of ['Alpha', 'Beta']) await createKey(page, name);
      await page.getByText('There is room for one more key on the plan Free.').waitFor();
      await createKey(page, 'Gamma');
      await page.getByText('The plan Free has room for 3 keys that are not revoked').waitFor();
      expect(await page.getByRole('button', { name: 'Create key' }).isDisabled()).toBe(true);
      expect(await page.getByText('3 of 3 keys in use on Free').count()).toBe(1);

      const names = async () =>
        (await page.locator('tbody').getByRole('rowheader').getByRole('link').allTextContents()).join(' ');
      await page.getByRole('button', { name: 'Name', exact: true }).click();
      expect(await names()).toBe('Alpha Beta Gamma');
      await page.getByRole('button', { name: 'Name', exact: true }).click();
      expect(await names()).toBe('Gamma Beta Alpha');
      await page.getByLabel('Filter by name or first characters').fill('BET');
      expect(await names()).toBe('Beta');
      await page.waitForURL('**/keys?sort=-name&find=BET');
      await page.reload();
      await page.getByText('3 of 3 keys in use on Free').waitFor();
      expect(await names()).toBe('Beta');
      expect(await page.getByLabel('Filter by name or first characters').inputValue()).toBe('BET');
      await page.getByRole('button', { name: /All states/ }).click();
      await page.getByRole('option', { name: 'Revoked' }).click();
      await page.getByText('No key matches the filter.').waitFor();
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'of several organizations switches between them, and cannot leave one without an owner',
    async () => {
      const [one, two] = [await site.organization('North'), await site.organization('South')];
      const account = await site.person('owner', one);
      must(await site.control().addMember(OPERATOR, { org: two, email: account.email, role: 'viewer' }));
      const { page } = await site.signedIn(account);
      await site.open(page, 'members', one);
      await page.getByText('The only owner').waitFor();
      expect(await page.getByRole('button', { name: /^Remove / }).count()).toBe(0);
      await page.getByRole('button', { name: 'Organization: North' }).click();
      await page.getByRole('menuitem', { name: 'South' }).click();
      await page.waitForURL(`**/o/${two}/members`);
      await page.getByRole('link', { name: 'Keys', exact: true }).click();
      await page.getByText('Keys that an owner creates').waitFor();
      expect(await page.getByRole('button', { name: 'Create key' }).count()).toBe(0);
    },
    TEST_TIMEOUT_MS,
  );
});

describeUsage(site);
describeCsv(site);
describeRequests(site);
describeGuide(site);
describeFirstModel(site);
describeDetail(site);
describeAttention(site);
describeFit(site);
describeKeyboard(site);
describeLeaving(site);
describeLongLists(site);
describeSlips(site);
describeTyped(site);
