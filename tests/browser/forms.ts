import { describe, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { expectAccessible } from '../support/browser.ts';
import { must, OPERATOR } from '../support/control.ts';
import { confirm, PASSWORD, rowOf, type Site, TEST_TIMEOUT_MS, textOf, told } from './site.ts';

/** Waits for all expected errors. Then expects each at its field, and no others. */
async function expectRefused(form: Locator, expected: Readonly<Record<string, RegExp>>): Promise<void> {
  for (const rule of Object.values(expected)) await form.getByText(rule).waitFor();
  const refused = form.locator('[data-slot=field-error]');
  expect(await refused.count()).toBe(Object.keys(expected).length);
  for (const [label, rule] of Object.entries(expected)) {
    const field = form.locator('[data-invalid]').filter({ hasText: label }).filter({ hasText: rule });
    expect({ label, count: await field.count() }).toEqual({ label, count: 1 });
  }
}

/** The label of the focused field. */
const focusIn = (form: Locator): Promise<string> =>
  form.locator(':focus').evaluate((field) => field.labels?.[0]?.textContent ?? field.textContent ?? '');

const openForm = async (site: Site, page: Page, screen: string, opener: string): Promise<Locator> => {
  await site.open(page, screen);
  await page.getByRole('button', { name: opener, exact: true }).click();
  return page.getByRole('dialog');
};

export function describeForms(site: Site): void {
  describe('a form says everything that is wrong, each at its field, goes to the first, and takes what is right then', () => {
    it(
      'when an invitation is accepted',
      async () => {
        const email = 'hasty@example.com';
        const { token } = must(
          await site.control().createInvitation(OPERATOR, { org: 'demo', email, role: 'viewer' }),
        );
        const { page, errors } = await site.visit();
        await page.goto(`${site.url()}/invite/${token}`);
        const form = page.locator('form');
        await form.getByLabel('Password').fill('short');
        await form.getByRole('button', { name: 'Join' }).click();
        await expectRefused(form, {
          'Your name': /name of 1 to 80 characters/,
          Password: /8 to 128 characters/,
        });
        expect(await focusIn(form)).toBe('Your name');
        await expectAccessible(page);
        expect(await form.getByLabel('Password').inputValue()).toBe('short');
        await form.getByLabel('Your name').fill('Ada');
        await form.getByLabel('Password').fill('shorter');
        await form.getByRole('button', { name: 'Join' }).click();
        await form.getByText(/name of 1 to 80 characters/).waitFor({ state: 'detached' });
        await expectRefused(form, { Password: /8 to 128 characters/ });
        expect(await focusIn(form)).toBe('Password');
        expect(await form.getByLabel('Your name').inputValue()).toBe('Ada');
        await form.getByLabel('Password').fill('password1234');
        await form.getByRole('button', { name: 'Join' }).click();
        await form.getByText(/8 to 128 characters\.$/).waitFor({ state: 'detached' });
        await form.locator('[data-slot=field-error]').waitFor();
        await form.getByLabel('Password').fill(PASSWORD);
        await form.getByRole('button', { name: 'Join' }).click();
        await page.waitForURL('**/o/demo/keys');
        expect(errors).toEqual([]);
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'when a key is created',
      async () => {
        const { page, errors } = await site.signedIn();
        const form = await openForm(site, page, 'keys', 'Create key');
        await form.getByRole('button', { name: /May call/ }).click();
        await page.getByRole('option', { name: /Chosen models/ }).click();
        await form.getByLabel('Requests per minute').fill('6001');
        await form.getByLabel('Requests at once').fill('0');
        await form.getByLabel('Expires on').fill('2020-02-02');
        await form.getByRole('button', { name: 'Create key' }).click();
        await expectRefused(form, {
          Name: /1 to 80 characters/,
          'May call': /Choose 1 to 50 published models/,
          'Requests per minute': /from 1 to 6,000/,
          'Requests at once': /from 1 to 256/,
          'Expires on': /today \(UTC\) or later/,
        });
        expect(await focusIn(form)).toBe('Name');
        await expectAccessible(page);
        await form.getByLabel('Expires on').fill('');
        await form.getByLabel('Expires on').press('1');
        await form.getByRole('button', { name: 'Create key' }).click();
        await expectRefused(form, { 'Expires on': /Enter a complete date/ });
        // Two UTF-16 units each.
        const longest = '🔑'.repeat(80);
        await form.getByLabel('Name').fill(longest);
        expect(await form.getByLabel('Name').inputValue()).toBe(longest);
        await form.getByLabel('Name').fill('Mended');
        await form.getByLabel('Requests per minute').fill('60');
        await form.getByLabel('Requests at once').fill('1e2');
        await form.getByLabel('Expires on').fill('');
        await form.getByRole('button', { name: 'Create key' }).click();
        await form.getByText(/name of 1 to 80 characters/).waitFor({ state: 'detached' });
        await expectRefused(form, {
          'May call': /Choose 1 to 50 published models/,
          'Requests at once': /from 1 to 256/,
        });
        expect(await focusIn(form)).toContain('Chosen models');
        await form.getByLabel('Requests at once').fill('4');
        await form.getByText('demo-text', { exact: true }).click();
        await form.getByRole('button', { name: 'Create key' }).click();
        await page.getByText('“Mended” is ready').waitFor();
        expect(errors).toEqual([]);
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'when a model is published, also one that does not answer, which is then deleted',
      async () => {
        const { page, errors } = await site.signedIn();
        const form = await openForm(site, page, 'api', 'Publish model');
        await form.getByLabel('Name', { exact: true }).fill('no spaces');
        await form.getByLabel('Servers', { exact: true }).fill('not a url');
        await form.getByLabel('Context length').fill('0');
        await form.getByLabel('Upstream key').fill('with spaces');
        await form.getByRole('button', { name: 'Publish model' }).click();
        await expectRefused(form, {
          Name: /1 to 128 characters/,
          Servers: /http:\/\/ or https:\/\//,
          'Context length': /from 1 to/,
          'Upstream key': /without spaces/,
        });
        expect(await focusIn(form)).toBe('Servers');
        await expectAccessible(page);
        await form.getByLabel('Name', { exact: true }).fill('mended');
        await form.getByLabel('Servers', { exact: true }).fill('http://127.0.0.1:9/v1');
        await form.getByLabel('Context length').fill('100');
        await form.getByLabel('Upstream key').fill('');
        await form.getByRole('button', { name: 'Publish model' }).click();
        await form.getByText('Its server does not answer').waitFor();
        await expectAccessible(page);
        await form.getByRole('button', { name: 'Publish anyway' }).click();
        const row = rowOf(page, 'mended');
        await row.waitFor();
        await row.getByRole('button', { name: 'Delete mended' }).click();
        await confirm(page, 'Delete model');
        await row.waitFor({ state: 'detached' });
        expect(errors).toEqual([]);
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'when someone is invited',
      async () => {
        const { page } = await site.signedIn();
        const form = await openForm(site, page, 'members', 'Invite');
        await form.getByRole('button', { name: 'Create link' }).click();
        await expectRefused(form, { 'E-mail': /an address such as/ });
        expect(await focusIn(form)).toBe('E-mail');
        await form.getByLabel('E-mail').fill('second-try@example.com');
        await form.getByRole('button', { name: 'Create link' }).click();
        await page.getByLabel('Invitation link').waitFor();
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'when a password is changed',
      async () => {
        const account = await site.person('viewer');
        const { page } = await site.signedIn(account);
        await page.goto(`${site.url()}/account`);
        const form = page.locator('form').filter({ hasText: 'Current password' });
        await form.getByLabel('Current password').fill('not the password');
        await form.getByLabel('New password').fill('short');
        await form.getByRole('button', { name: 'Change password' }).click();
        await expectRefused(form, {
          'Current password': /not your current password/,
          'New password': /8 to 128 characters/,
        });
        expect(await focusIn(form)).toBe('Current password');
        await expectAccessible(page);
        await form.getByLabel('Current password').fill(PASSWORD);
        await form.getByLabel('New password').fill('password123');
        await form.getByRole('button', { name: 'Change password' }).click();
        await expectRefused(form, { 'New password': /too easy to guess/ });
        await form.getByLabel('New password').fill('another-long-password');
        await form.getByRole('button', { name: 'Change password' }).click();
        await told(page, 'Password changed.');
        expect(await site.trailOf(account)).toEqual(['account.signIn password', 'account.changePassword']);
      },
      TEST_TIMEOUT_MS,
    );

    it.each([true, false])(
      'when someone signs in, scripts: %s',
      async (javaScriptEnabled) => {
        const { page } = await site.visit(javaScriptEnabled ? {} : { context: { javaScriptEnabled } });
        await page.goto(`${site.url()}/sign-in?next=/o/demo/usage`);
        const form = page.locator('form').filter({ hasText: 'E-mail' });
        await form.getByRole('button', { name: 'Sign in', exact: true }).click();
        await expectRefused(form, { 'E-mail': /Enter your e-mail/, Password: /Enter your password/ });
        if (javaScriptEnabled) expect(await focusIn(form)).toBe('E-mail');
        await form.getByLabel('E-mail').fill(site.owner().email);
        await form.getByLabel('Password').fill('not the password');
        await form.getByRole('button', { name: 'Sign in', exact: true }).click();
        await form.getByRole('alert').getByText('is wrong').waitFor();
        expect(await textOf(form)).not.toContain('Enter your');
        expect(await form.getByLabel('E-mail').inputValue()).toBe(site.owner().email);
        await form.getByLabel('Password').fill(site.owner().password);
        await form.getByRole('button', { name: 'Sign in', exact: true }).click();
        await page.waitForURL('**/o/demo/usage');
      },
      TEST_TIMEOUT_MS,
    );
  });
}
