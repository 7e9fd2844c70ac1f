import { describe, expect, it } from '@jest/globals';
import { eventually } from '@tidegate/testing';
import { expectAccessibleInBoth, expectStill } from '../support/browser.ts';
import { must, OPERATOR } from '../support/control.ts';
import { focused, type Site, TEST_TIMEOUT_MS } from './site.ts';

export function describeKeyboard(site: Site): void {
  describe('the keyboard', () => {
    it(
      'goes to any screen, key, model and member by name, and back to where it was with Escape',
      async () => {
        const org = await site.organization('Palette');
        const account = await site.person('owner', org);
        const { id } = await site.newKey('Nightly reports', { org });
        const model = { org, name: 'night-owl', kind: 'text', mode: 'always_on' } as const;
        const published = must(
          await site
            .control()
            .publishModel(OPERATOR, { ...model, contextTokens: 100, urls: ['http://127.0.0.1:9'] }),
        );
        const { page, errors } = await site.signedIn(account);
        await site.open(page, 'keys', org);
        const field = page.getByRole('combobox', { name: 'Screen, key, model or member' });
        const options = page.getByRole('option');
        const find = async (text: string, first: RegExp) => {
          await page.keyboard.press('Control+k');
          await field.fill(text);
          await options.filter({ hasText: first }).first().waitFor();
        };

        await page.getByRole('button', { name: 'Create key' }).focus();
        await find('', /Usage/);
        await expectStill(page);
        await expectAccessibleInBoth(page);
        await page.keyboard.press('Escape');
        await field.waitFor({ state: 'detached' });
        await eventually(async () => (await focused(page)).includes('Create key'));

        await find('night rep', /Nightly reports/);
        await page.keyboard.press('Enter');
        await page.waitForURL(`**/o/${org}/keys/${id}`);
        await eventually(async () => (await focused(page)) === 'Nightly reports');
        await find('night', /night-owl/);
        await page.keyboard.press('ArrowDown');
        await page.keyboard.press('Enter');
        await page.waitForURL(`**/o/${org}/api/${published.id}`);
        await find(account.email.slice(6, 20), /owner-/);
        await page.keyboard.press('Enter');
        await page.waitForURL(`**/o/${org}/members`);
        await find('usage', /Usage/);
        await options.filter({ hasText: 'Usage' }).click();
        await page.waitForURL(`**/o/${org}/usage`);
        // The dialog's options change with the answers that it waits for.
        await expectStill(page, { dialogs: false });

        // The console opens where the user was last.
        await page.goto(site.url());
        await page.waitForURL(`**/o/${org}/usage`);
        expect(errors).toEqual([]);
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'does not leave a dialog that shows something only once',
      async () => {
        const { page } = await site.signedIn();
        await site.open(page, 'keys');
        await page.getByRole('button', { name: 'Create key' }).click();
        await page.getByRole('dialog').getByLabel('Name').fill('Kept');
        await page.keyboard.press('Control+k');
        expect(await page.getByRole('combobox', { name: 'Screen, key' }).count()).toBe(0);
        expect(await page.getByRole('dialog').getByLabel('Name').inputValue()).toBe('Kept');
      },
      TEST_TIMEOUT_MS,
    );
  });

  describe('a narrow screen', () => {
    it(
      'has room for the first screens, and shows that there are more',
      async () => {
        const { page } = await site.signedIn(site.owner(), { viewport: { width: 390, height: 844 } });
        await site.open(page, 'keys');
        await page.getByRole('button', { name: 'More', exact: true }).click();
        await page.getByRole('menuitem', { name: 'Audit' }).click();
        await page.waitForURL('**/o/demo/audit');
        await page.getByRole('button', { name: 'Audit and more screens' }).waitFor();
      },
      TEST_TIMEOUT_MS,
    );
  });
}
