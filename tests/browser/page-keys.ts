import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Standin, startStandin } from '@tidegate/standin';
import { eventually } from '@tidegate/testing';
import type { Page } from 'playwright-core';
import { expectAccessibleInBoth } from '../support/browser.ts';
import { must, OPERATOR } from '../support/control.ts';
import { END, givePassword } from './account.ts';
import { PASSWORD, type Site, TEST_TIMEOUT_MS, told } from './site.ts';

const CONTEXT_TOKENS = 800;

export function describePageKeys(site: Site): void {
  describe('the key of an open page', () => {
    let standin: Standin;
    beforeAll(async () => {
      standin = await startStandin({ names: ['tide'], contextTokens: CONTEXT_TOKENS });
    });
    afterAll(() => standin.close());

    it(
      'ends with any session of its owner, and a page whose session continues creates another',
      async () => {
        const org = await site.organization('Ends pages');
        const model = { org, name: 'tide', kind: 'text', mode: 'always_on' } as const;
        const urls = [`${standin.url}/v1`];
        must(await site.control().publishModel(OPERATOR, { ...model, contextTokens: CONTEXT_TOKENS, urls }));
        await eventually(
          async () => must(await site.control().listModels(OPERATOR, { org }))[0]?.condition === 'running',
        );
        const { email } = await site.person('owner', org);
        const [laptop, phone] = [(await site.visit()).page, (await site.visit()).page];
        const signIn = async (page: Page, password = PASSWORD) => {
          await givePassword(page, site, email, password);
          await page.waitForURL(`**/o/${org}/**`);
        };
        const pageKeys = async () =>
          must(await site.control().listKeys(OPERATOR, { org })).map(({ state }) => state);
        const send = async () => {
          await laptop.getByLabel('Message', { exact: true }).fill('Say hello');
          await laptop.getByRole('button', { name: 'Send' }).click();
          await laptop.getByText(/tokens in · .* tokens out/).waitFor();
          expect(await pageKeys()).toEqual(['Active']);
        };
        for (const page of [laptop, phone]) await signIn(page);
        await site.open(laptop, 'try', org);
        await send();
        await phone.goto(`${site.url()}/account`);
        await phone.getByRole('button', { name: 'Sign out', exact: true }).click();
        await phone.waitForURL('**/sign-in');
        expect(await pageKeys()).toEqual([]);
        await laptop.getByRole('button', { name: 'New conversation' }).click();
        await send();

        const next = 'another-long-password';
        await signIn(phone);
        await phone.goto(`${site.url()}/account`);
        await phone.getByLabel('Current password').fill(PASSWORD);
        await phone.getByLabel('New password').fill(next);
        await phone.getByRole('button', { name: 'Change password' }).click();
        await told(phone, 'Password changed.');
        expect(await pageKeys()).toEqual([]);

        await signIn(laptop, next);
        await site.open(laptop, 'try', org);
        await send();
        await phone.reload();
        await phone.getByRole('button', { name: END }).click();
        await told(phone, 'The session has ended.');
        expect(await pageKeys()).toEqual([]);

        await signIn(laptop, next);
        await site.open(laptop, 'try', org);
        await send();
        await phone.getByRole('button', { name: 'Sign out everywhere' }).click();
        await expectAccessibleInBoth(phone);
        await phone.getByRole('button', { name: 'End all sessions' }).click();
        await phone.waitForURL('**/sign-in');
        expect(await pageKeys()).toEqual([]);
      },
      TEST_TIMEOUT_MS,
    );
  });
}
