import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Standin, startStandin } from '@tidegate/standin';
import { eventually } from '@tidegate/testing';
import type { Page } from 'playwright-core';
import { expectAccessible, expectStill, signIn } from '../support/browser.ts';
import { must, OPERATOR } from '../support/control.ts';
import { type Site, TEST_TIMEOUT_MS, textOf, told } from './site.ts';

export function describeGuide(site: Site): void {
  describe('the first steps', () => {
    let standin: Standin;
    beforeAll(async () => {
      standin = await startStandin({ names: ['first-model', 'other-model'], contextTokens: 1_000 });
    });
    afterAll(() => standin.close());

    it(
      'lead an owner from an empty organization to the first answer, each ticked when it has happened',
      async () => {
        const org = await site.organization('Just begun');
        const { page, errors } = await site.visit();
        await signIn(page, site.url(), await site.person('owner', org));
        await page.waitForURL(`**/o/${org}/start`);
        const steps = page.getByRole('list', { name: 'First steps' }).locator('> li');
        const isDone = (title: string) =>
          page.getByRole('heading', { name: `${title} (done)`, exact: true }).waitFor();
        await expectAccessible(page);
        await expectStill(page);
        expect(await page.getByRole('heading', { name: /\(done\)/ }).count()).toBe(0);

        await steps.getByRole('button', { name: 'Publish model' }).click();
        const dialog = page.getByRole('dialog');
        await dialog.getByLabel('Servers', { exact: true }).fill(`${standin.url}/v1`);
        await dialog.getByRole('button', { name: 'Test the connection' }).click();
        await dialog.getByText('It serves first-model and other-model, context 1,000.').waitFor();
        await expectAccessible(page);
        const filledIn = async () => [
          await dialog.getByLabel('Name', { exact: true }).inputValue(),
          await dialog.getByLabel('Context length').inputValue(),
        ];
        expect(await filledIn()).toEqual(['first-model', '1000']);
        await dialog.getByRole('button', { name: /Model on the servers/ }).click();
        await page.getByRole('option', { name: 'other-model' }).click();
        expect(await filledIn()).toEqual(['other-model', '1000']);
        await dialog.getByLabel('Name', { exact: true }).fill('first-model');
        await dialog.getByLabel('Upstream model').fill('no-such-model');
        await dialog.getByRole('button', { name: 'Publish model' }).click();
        await dialog.getByText("The server does not serve 'no-such-model'").waitFor();
        await dialog.getByLabel('Upstream model').fill('');
        await dialog.getByRole('button', { name: 'Publish model' }).click();
        await told(page, '“first-model” is published. Reached a server. It serves');
        await isDone('Publish a model');
        await page.getByText('first-model is running.').waitFor();

        await steps.getByRole('button', { name: 'Create key' }).click();
        await dialog.getByLabel('Name').fill('First');
        await dialog.getByRole('button', { name: 'Create key' }).click();
        const key = await page.getByLabel('API key').inputValue();
        await page.getByRole('button', { name: 'I have copied the key' }).click();
        await isDone('Create a key');
        const request = await textOf(page.getByRole('tabpanel').locator('pre'));
        for (const part of [key, '"model": "first-model"', 'Hello!']) expect(request).toContain(part);

        expect((await site.ask(key, { model: 'not-one' })).status).toBe(404);
        await page.getByText('Waiting for the first request.').waitFor();
        expect((await site.ask(key, { model: 'first-model' })).status).toBe(200);
        await isDone('Send the first request');
        await expectAccessible(page);
        await expectStill(page, { dialogs: false });
        await page.goto(site.url());
        await page.waitForURL(`**/o/${org}/keys`);
        expect(errors).toEqual([]);
        await expectOwnKey(page, org);
      },
      TEST_TIMEOUT_MS,
    );

    /**
     * Expects Try it to create its own key, to replace it when it is refused, and to end it when
     * left.
     */
    async function expectOwnKey(page: Page, org: string): Promise<void> {
      const keys = async () => must(await site.control().listKeys(OPERATOR, { org }));
      const names = async () => (await keys()).map(({ name }) => name);
      const send = async () => {
        await page.getByLabel('Message', { exact: true }).fill('Say hello');
        await page.getByRole('button', { name: 'Send' }).click();
        await page.getByText(/tokens in · .* tokens out/).waitFor();
      };
      await page.getByRole('link', { name: 'Try it' }).click();
      await send();
      expect(await names()).toEqual(['Try it', 'First']);
      const [{ id } = { id: '' }] = await keys();
      must(await site.control().revokeKey(OPERATOR, { org, id }));
      await page.getByRole('button', { name: 'New conversation' }).click();
      await send();
      expect(await names()).toEqual(['Try it', 'First']);
      expect((await keys())[0]?.id).not.toBe(id);
      await expectAccessible(page);
      await page.goto(site.url());
      await eventually(async () => (await names()).join() === 'First');
    }

    it(
      'are for owners, who find them where nothing exists yet; others go to the keys',
      async () => {
        const org = await site.organization('Empty still');
        const { page } = await site.signedIn(await site.person('owner', org));
        for (const screen of ['keys', 'api']) {
          await site.open(page, screen, org);
          await page.getByRole('link', { name: 'follow the first steps' }).click();
          await page.waitForURL(`**/o/${org}/start`);
        }
        const member = await site.signedIn(await site.person('member', org));
        for (const path of ['', `/o/${org}/start`]) {
          await member.page.goto(`${site.url()}${path}`);
          await member.page.waitForURL(`**/o/${org}/keys`);
        }
        must(await site.control().createKey(OPERATOR, { org, name: 'One' }));
        await page.goto(site.url());
        await eventually(async () => page.url().endsWith(`/o/${org}/keys`));
      },
      TEST_TIMEOUT_MS,
    );
  });
}
