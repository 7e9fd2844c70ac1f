import { describe, expect, it } from '@jest/globals';
import { closeDb, createDb } from '@tidegate/db';
import { eventually, PATIENT_DB, totp } from '@tidegate/testing';
import type { Page } from 'playwright-core';
import { expectAccessibleInBoth, expectSound } from '../support/browser.ts';
import { must, OPERATOR } from '../support/control.ts';
import { confirm, PASSWORD, rowOf, type Site, TEST_TIMEOUT_MS, told } from './site.ts';

/** Two sessions of one browser differ in when they began. */
export const END = /^End the session of Chrome on \w+ since .* UTC$/;
const YEAR_MS = 31_536_000_000;
const SIGN_IN = { name: 'Sign in', exact: true } as const;

export async function givePassword(
  page: Page,
  site: Site,
  email: string,
  password = PASSWORD,
): Promise<void> {
  await page.goto(`${site.url()}/sign-in`);
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', SIGN_IN).click();
}

async function giveCode(page: Page, code: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Code' }).fill(code);
  await page.getByRole('button', SIGN_IN).click();
}

/**
 * Sets up two-factor on the open page, and calls `look` at its second step. Resolves to the app's
 * address and the recovery codes.
 */
async function setUp(
  page: Page,
  look: (page: Page) => Promise<void> = async () => {},
): Promise<{ app: string; codes: string[] }> {
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('img', { name: 'QR code' }).waitFor();
  await look(page);
  const secret = ((await page.getByTestId('secret').textContent()) ?? '').replaceAll(' ', '');
  const app = `otpauth://totp/x?secret=${secret}`;
  const codes = await page
    .getByRole('list', { name: 'Recovery codes' })
    .getByRole('listitem')
    .allTextContents();
  await page.getByRole('textbox', { name: 'Code' }).fill('000000');
  await page.getByRole('button', { name: 'Turn on' }).click();
  await page.getByText('This is not the code that the app shows now').waitFor();
  await page.getByRole('textbox', { name: 'Code' }).fill(totp(app));
  await page.getByRole('button', { name: 'Turn on' }).click();
  return { app, codes };
}

export function describeAccount(site: Site): void {
  describe('an account', () => {
    it(
      'lists its sessions, and can end one of another device',
      async () => {
        const account = await site.person('viewer');
        const [laptop, phone] = [await site.visit(), await site.visit()];
        for (const { page } of [laptop, phone]) {
          await givePassword(page, site, account.email);
          await page.waitForURL('**/o/demo/keys');
        }
        await laptop.page.goto(`${site.url()}/account`);
        const sessions = laptop.page.getByRole('list', { name: 'Sessions' }).getByRole('listitem');
        await laptop.page.getByRole('button', { name: END }).click();
        await told(laptop.page, 'The session has ended.');
        expect(await sessions.filter({ hasText: 'This one' }).count()).toBe(1);
        await site.open(phone.page, 'keys');
        await phone.page.waitForURL('**/sign-in?**');
        await site.open(laptop.page, 'keys');
        await laptop.page.getByRole('heading', { level: 1 }).waitFor();
        expect(laptop.page.url()).toMatch(/\/o\/demo\/keys$/);
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'gets a second factor where its organization requires one, and is asked for it after the password',
      async () => {
        const org = await site.organization('Careful');
        const account = await site.person('owner', org);
        const { page, errors } = await site.signedIn(account);
        const keys = async () => must(await site.control().listKeys(OPERATOR, { org }));
        await site.open(page, 'members', org);
        await page.getByRole('button', { name: 'Require two-factor' }).click();
        await page.getByRole('button', { name: 'Require it' }).click();
        await page.getByText('Set up two-factor for your own account first.').waitFor();
        await page.getByRole('button', { name: 'Cancel' }).click();
        await page.goto(`${site.url()}/account`);
        await page.getByRole('link', { name: 'Set up' }).click();
        await expectSound(page);
        await site.pageKey(account, org);
        await setUp(page, expectSound);
        await page.waitForURL('**/account');
        await page.getByRole('button', { name: 'New recovery codes' }).waitFor();
        expect(await keys()).toEqual([]);

        const member = await site.person('member', org);
        const { page: theirs } = await site.signedIn(member);
        await site.open(page, 'members', org);
        await rowOf(page, `${member.email}No two-factor`).waitFor();
        await page.getByRole('button', { name: 'Require two-factor' }).click();
        await confirm(page, 'Require it');
        await site.open(theirs, 'usage', org);
        await theirs.getByText('Careful requires its members to use two-factor').waitFor();
        await expectSound(theirs);
        expect((await theirs.request.get(`${site.url()}/o/${org}/usage/csv`)).status()).toBe(404);
        const { app, codes } = await setUp(theirs);
        await theirs.waitForURL(`**/o/${org}/usage`);

        const { page: later } = await site.visit();
        await givePassword(later, site, member.email);
        await later.getByRole('heading', { name: 'One more step' }).waitFor();
        await expectSound(later);
        await giveCode(later, '000000');
        await later.getByText('This code is wrong').waitFor();
        await giveCode(later, totp(app));
        await later.waitForURL(`**/o/${org}/keys`);

        const { page: plain } = await site.visit({ context: { javaScriptEnabled: false } });
        await givePassword(plain, site, member.email);
        await giveCode(plain, codes[0] ?? '');
        await plain.waitForURL(`**/o/${org}/keys`);

        await later.goto(`${site.url()}/account`);
        await later.getByRole('button', { name: 'New recovery codes' }).click();
        await expectAccessibleInBoth(later);
        await later.getByLabel('Your password').fill(PASSWORD);
        await later.getByRole('button', { name: 'Create new codes' }).click();
        await later.getByRole('list', { name: 'Recovery codes' }).waitFor();
        await expectAccessibleInBoth(later);
        await later.getByRole('button', { name: 'I have saved them' }).click();
        await later.getByRole('button', { name: 'Turn off' }).click();
        await later.getByLabel('Your password').fill(PASSWORD);
        await later.getByRole('button', { name: 'Turn off' }).last().click();
        await later.getByRole('link', { name: 'Set up' }).waitFor();
        await site.open(later, 'keys', org);
        await later.getByRole('heading', { name: 'Set up two-factor' }).waitFor();
        await site.pageKey(account, org);
        await page.goto(`${site.url()}/account`);
        await page.getByRole('button', { name: 'Turn off' }).click();
        await page.getByLabel('Your password').fill(PASSWORD);
        await page.getByRole('button', { name: 'Turn off' }).last().click();
        await page.getByRole('link', { name: 'Set up' }).waitFor();
        expect(await keys()).toEqual([]);
        expect(await site.trailOf(member, org)).toEqual([
          'account.signIn password',
          'account.enableTwoFactor',
          'account.signInFailed password and app',
          'account.signIn password and app',
          'account.useBackupCode',
          'account.signIn password and recovery code',
          'account.renewRecoveryCodes',
          'account.disableTwoFactor',
        ]);
        expect(errors).toEqual([]);
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'is told whom to ask when its second factor can no longer be read',
      async () => {
        const account = await site.person('viewer');
        const { page } = await site.signedIn(account);
        await page.goto(`${site.url()}/account`);
        await page.getByRole('link', { name: 'Set up' }).click();
        await page.waitForURL('**/account/two-factor');
        const { app } = await setUp(page);
        await page.waitForURL('**/account');
        const db = createDb(site.stack().info.postgres, { ...PATIENT_DB, maxConnections: 1 });
        // As if another secret than the console's had encrypted it.
        await db.twoFactor.updateMany({
          where: { user: { email: account.email } },
          data: { secret: '$ba$1$00' },
        });
        await closeDb(db);
        const { page: later, errors } = await site.visit();
        await givePassword(later, site, account.email);
        await giveCode(later, totp(app));
        await later.getByText('can no longer read this second factor. Ask an operator').waitFor();
        await expectSound(later);
        expect(errors).toEqual([]);
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'reports once a minute that the page is in use, even if the clock is set back',
      async () => {
        // A context of its own, because a clock stays installed.
        const { page } = await site.signedIn(site.owner(), { context: {} });
        await page.clock.install();
        let sent = false;
        page.on('request', (request) => {
          sent ||= request.method() === 'POST' && new URL(request.url()).pathname === '/pulse';
        });
        const expectSent = async () => {
          sent = false;
          await eventually(async () => {
            await page.clock.runFor(60_000);
            await page.keyboard.press('Shift');
            return sent;
          });
        };
        await site.open(page, 'keys');
        await expectSent();
        await page.clock.setSystemTime(Date.now() - YEAR_MS);
        await expectSent();
      },
      TEST_TIMEOUT_MS,
    );
  });
}
