import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { eventually } from '@tidegate/testing';
import { expectAccessible, expectAccessibleInBoth } from '../support/browser.ts';
import { must, OPERATOR } from '../support/control.ts';
import { rowOf, type Site, TEST_TIMEOUT_MS, textOf } from './site.ts';

export function describeLeaving(site: Site): void {
  describe('someone who leaves', () => {
    it(
      'deletes an organization by typing its name, and its keys are refused at once',
      async () => {
        const org = await site.organization('Closing down');
        const account = await site.person('owner', org);
        const { key } = await site.newKey('last', { org });
        const { page, errors } = await site.signedIn(account);
        await site.open(page, 'plan', org);
        await page.getByRole('button', { name: 'Delete organization', exact: true }).click();
        const dialog = page.getByRole('alertdialog');
        await dialog.getByLabel("Type the organization's name to confirm").fill('closing down');
        await expectAccessible(page);
        await page.keyboard.press('Enter');
        await dialog.getByText("Type the organization's name to confirm: Closing down").waitFor();
        const field = dialog.getByLabel("Type the organization's name to confirm");
        expect(await field.getAttribute('aria-invalid')).toBe('true');
        expect(await field.evaluate((own) => own === own.ownerDocument.activeElement)).toBe(true);
        await dialog.getByLabel("Type the organization's name to confirm").fill('Closing down');
        await dialog.getByRole('button', { name: 'Delete organization for good' }).click();
        await page.waitForURL('**/account');
        await page.getByText('You belong to no organization').waitFor();
        expect((await site.ask(key)).code).toBe('invalid_api_key');
        expect((await page.goto(`${site.url()}/o/${org}/keys`))?.status()).toBe(404);
        expect(errors.filter((error) => !error.includes('404'))).toEqual([]);
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'leaves an organization, then deletes the account, and the owners can read both in the trail',
      async () => {
        const [left, kept] = [
          await site.organization('Left behind'),
          await site.organization('Kept until then'),
        ];
        const owner = await site.person('owner', left);
        const account = await site.person('viewer', left);
        must(await site.control().addMember(OPERATOR, { org: kept, email: account.email, role: 'viewer' }));
        const { page } = await site.signedIn(account);
        await site.open(page, 'members', left);
        await page.getByRole('button', { name: 'Leave organization', exact: true }).click();
        await page.getByRole('alertdialog').getByRole('button', { name: 'Leave', exact: true }).click();
        await page.waitForURL(`**/o/${kept}/keys`);
        await page.goto(`${site.url()}/account`);
        await page.getByRole('button', { name: 'Delete account', exact: true }).click();
        const typed = page.getByRole('alertdialog').getByLabel('Type your e-mail to confirm');
        await typed.fill('x');
        await typed.press('Enter');
        await page.getByText(`Type your e-mail to confirm: ${account.email}`).waitFor();
        await typed.fill(account.email);
        await page.getByRole('button', { name: 'Delete account for good' }).click();
        await page.waitForURL('**/sign-in');
        const events = must(await site.control().listAudit(OPERATOR, { org: kept })).events;
        expect(events[0]).toMatchObject({ action: 'account.delete', actor: account.email });

        const trail = await site.signedIn(owner);
        await site.open(trail.page, 'audit', left);
        await trail.page.getByLabel('Who').fill(account.email);
        await trail.page.getByLabel('What').selectOption('Members');
        await trail.page.getByRole('button', { name: 'Filter', exact: true }).click();
        await trail.page.waitForURL('**/audit?*actor=*');
        await eventually(async () => (await trail.page.getByRole('row').count()) === 2);
        expect(await textOf(rowOf(trail.page, account.email))).toContain('Left');
        for (const format of ['CSV', 'JSON lines']) {
          const download = trail.page.waitForEvent('download');
          await trail.page.getByRole('link', { name: format, exact: true }).click();
          const lines = await textOfDownload(await download);
          expect(lines.filter((line) => line.includes('member.leave'))).toHaveLength(1);
          expect(lines).toHaveLength(format === 'CSV' ? 2 : 1);
        }
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'as one of its owners, by removing themselves, is led to where they still belong',
      async () => {
        const org = await site.organization('Two owners');
        const [, account] = [await site.person('owner', org), await site.person('owner', org)];
        const { page } = await site.signedIn(account);
        await site.open(page, 'members', org);
        await page.getByRole('button', { name: `Remove ${account.email}` }).click();
        await page.getByRole('alertdialog').getByText('You lose access').waitFor();
        await page.getByRole('button', { name: 'Remove member', exact: true }).click();
        await page.waitForURL('**/account');
        await page.getByText('You belong to no organization').waitFor();
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'leaves an organization that requires two-factor without setting it up',
      async () => {
        const org = await site.organization('Strict');
        await site.person('owner', org);
        const account = await site.person('owner', org);
        must(await site.control().requireTwoFactor(OPERATOR, { org, required: true }));
        const { page, errors } = await site.signedIn(account);
        await page.goto(`${site.url()}/o/${org}`);
        await page.getByText('Strict requires its members to use two-factor').waitFor();
        await page.getByRole('heading', { name: 'Leave Strict', exact: true }).waitFor();
        await page.getByRole('button', { name: 'Leave organization', exact: true }).click();
        await expectAccessibleInBoth(page);
        await page.getByRole('alertdialog').getByRole('button', { name: 'Leave', exact: true }).click();
        await page.waitForURL('**/account');
        await page.getByText('You belong to no organization').waitFor();
        const { events } = must(await site.control().listAudit(OPERATOR, { org, limit: 1 }));
        expect(events).toMatchObject([{ action: 'member.leave', actor: account.email }]);
        expect(errors).toEqual([]);
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'has each earlier attempt to sign in recorded in the trail, a failed one too',
      async () => {
        const org = await site.organization('Watched');
        const account = await site.person('viewer', org);
        const { page } = await site.visit();
        await page.goto(`${site.url()}/sign-in`);
        for (const password of ['not-the-password', account.password]) {
          await page.getByLabel('E-mail').fill(account.email);
          await page.getByLabel('Password').fill(password);
          await page.getByRole('button', { name: 'Sign in', exact: true }).click();
          if (password !== account.password) await page.getByText('is wrong').waitFor();
        }
        await page.waitForURL('**/keys');
        const trail = async () =>
          must(await site.control().listAudit(OPERATOR, { org, action: 'account' })).events;
        // The failed sign-in is recorded later.
        await eventually(async () => (await trail()).length === 2);
        const events = await trail();
        expect(events.map(({ action, actor }) => [action, actor])).toEqual([
          ['account.signIn', account.email],
          ['account.signInFailed', 'unknown'],
        ]);
        expect(events[0]?.details).toMatchObject({ with: 'password', network: '127.0.0.0/24' });
      },
      TEST_TIMEOUT_MS,
    );
  });
}

async function textOfDownload(download: { path(): Promise<string> }): Promise<string[]> {
  return (await readFile(await download.path(), 'utf8')).split(/\r?\n/).filter((line) => line !== '');
}
