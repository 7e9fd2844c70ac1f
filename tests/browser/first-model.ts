import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Standin, startStandin } from '@tidegate/standin';
import { eventually } from '@tidegate/testing';
import type { Page } from 'playwright-core';
import { expectAccessible, expectStill } from '../support/browser.ts';
import { must, OPERATOR } from '../support/control.ts';
import { type Site, TEST_TIMEOUT_MS, textOf } from './site.ts';

const CONTEXT_TOKENS = 1_000;

export function describeFirstModel(site: Site): void {
  describe('quick start, try it and the snippet of a new key', () => {
    let standin: Standin;
    beforeAll(async () => {
      standin = await startStandin({ names: ['bravo', 'zulu'], contextTokens: CONTEXT_TOKENS });
    });
    afterAll(() => standin.close());

    const reaches = (org: string, name: string, wanted: string) =>
      eventually(async () =>
        must(await site.control().listModels(OPERATOR, { org })).some(
          (model) => model.name === name && model.condition === wanted,
        ),
      );
    const publish = async (
      org: string,
      name: string,
      mode: 'always_on' | 'wake_on_request',
      where: { urls: string[] } | { command: string; startTimeoutS?: number },
    ) => {
      const model = { org, name, kind: 'text', mode, contextTokens: CONTEXT_TOKENS } as const;
      must(await site.control().publishModel(OPERATOR, { ...model, ...where }));
    };
    /** Publishes a model that fails. Its name sorts first. */
    const publishFailed = async (org: string) => {
      await publish(org, 'alpha', 'wake_on_request', { command: 'exit 1' });
      must(await site.control().startModel(OPERATOR, { org, name: 'alpha' }));
      await reaches(org, 'alpha', 'failed');
    };
    const answering = () => ({ urls: [`${standin.url}/v1`] });
    /** What the three screens show: a model's name, or that there is none. */
    const shown = async (page: Page, org: string, key: string) => {
      await site.open(page, 'api', org);
      const start = page
        .locator('section')
        .filter({ has: page.getByRole('heading', { name: 'Quick start' }) });
      const quickStart = await textOf(start.locator('pre').first());
      await site.open(page, 'try', org);
      const tryIt = await textOf(page.getByRole('button', { name: /Model$/ }));
      await site.open(page, 'keys', org);
      await page.getByRole('button', { name: 'Create key' }).click();
      await page.getByRole('dialog').getByLabel('Name').fill(key);
      await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
      await page.getByText('it is shown only once').waitFor();
      const newKey = await textOf(page.getByRole('tabpanel').locator('pre'));
      return { quickStart, tryIt, newKey };
    };

    it(
      'name a model that answers before one that wakes or starts, and never one that is stopped or has failed',
      async () => {
        const org = await site.organization('First');
        const control = site.control();
        await publishFailed(org);
        await publish(org, 'bravo', 'always_on', { command: 'sleep 600', startTimeoutS: 600 });
        await publish(org, 'yankee', 'wake_on_request', { command: 'sleep 600' });
        await publish(org, 'zulu', 'always_on', answering());
        await reaches(org, 'zulu', 'running');
        const { page } = await site.signedIn(await site.person('owner', org));
        const expectEach = async (name: string) => {
          const { quickStart, tryIt, newKey } = await shown(page, org, `for ${name}`);
          for (const snippet of [quickStart, newKey]) expect(snippet).toContain(`"model": "${name}"`);
          expect(tryIt).toContain(name);
        };
        await expectEach('zulu');
        must(await control.stopModel(OPERATOR, { org, name: 'zulu' }));
        await reaches(org, 'zulu', 'stopped');
        await expectEach('yankee');
        must(await control.deleteModel(OPERATOR, { org, name: 'yankee' }));
        await expectEach('bravo');
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'say plainly that no model can answer, and lead to where that is changed',
      async () => {
        const org = await site.organization('Nothing runs');
        await publishFailed(org);
        const { page } = await site.signedIn(await site.person('owner', org));
        const { quickStart, tryIt, newKey } = await shown(page, org, 'Early');
        for (const said of [quickStart, tryIt, newKey]) expect(said).not.toContain('alpha');
        const dialog = page.getByRole('dialog');
        await dialog.getByText('No model can answer now').waitFor();
        const link = dialog.getByRole('link', { name: 'Start one on the API screen' });
        // The key is shown only once. The link must open elsewhere.
        expect(await link.getAttribute('target')).toBe('_blank');
        expect(await link.getAttribute('href')).toBe(`/o/${org}/api`);
        await expectAccessible(page);
        await site.open(page, 'api', org);
        await page.getByText('No model can answer now').waitFor();
        await expectAccessible(page);
        await site.open(page, 'try', org);
        await page.getByText('No model can answer now').waitFor();
        await expectAccessible(page);
        await expectStill(page);
        await page.getByRole('link', { name: 'Start one on the API screen' }).click();
        await page.waitForURL(`**/o/${org}/api`);
        const member = await site.signedIn(await site.person('member', org));
        await site.open(member.page, 'try', org);
        await member.page.getByText('Ask an owner to start one').waitFor();
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'wait for the first model that can answer: trying begins without a reload',
      async () => {
        const org = await site.organization('Comes up');
        const { page } = await site.signedIn(await site.person('owner', org));
        await site.open(page, 'try', org);
        await page.getByText('No models yet').waitFor();
        await publishFailed(org);
        await page.getByText('No model can answer now').waitFor();
        await publish(org, 'zulu', 'always_on', answering());
        await page
          .getByRole('button', { name: /Model$/ })
          .filter({ hasText: 'zulu' })
          .waitFor();
        await page.getByText('No model can answer now').waitFor({ state: 'detached' });
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'show the last lines of a process that failed, if it printed any',
      async () => {
        const org = await site.organization('Last words');
        await publishFailed(org);
        const { page } = await site.signedIn(await site.person('owner', org));
        await site.open(page, 'api', org);
        await page.getByText('Failed', { exact: true }).waitFor();
        expect(await page.locator('details').count()).toBe(0);
        await publish(org, 'noisy', 'wake_on_request', { command: 'echo last words; exit 1' });
        must(await site.control().startModel(OPERATOR, { org, name: 'noisy' }));
        await page.getByText('Show the last lines').click();
        await page.getByText('last words', { exact: true }).waitFor();
        await expectAccessible(page);
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'of a key for chosen models name one of these',
      async () => {
        const org = await site.organization('Chosen');
        await publishFailed(org);
        for (const name of ['bravo', 'zulu']) await publish(org, name, 'always_on', answering());
        for (const name of ['bravo', 'zulu']) await reaches(org, name, 'running');
        const { page } = await site.signedIn(await site.person('owner', org));
        await site.open(page, 'keys', org);
        await page.getByRole('button', { name: 'Create key' }).click();
        const dialog = page.getByRole('dialog');
        await dialog.getByLabel('Name').fill('Two');
        await dialog.getByRole('button', { name: /May call/ }).click();
        await page.getByRole('option', { name: /Chosen models/ }).click();
        for (const name of ['alpha', 'zulu']) await dialog.getByText(name, { exact: true }).click();
        await dialog.getByRole('button', { name: 'Create key' }).click();
        await page.getByText('it is shown only once').waitFor();
        expect(await textOf(page.getByRole('tabpanel').locator('pre'))).toContain('"model": "zulu"');
      },
      TEST_TIMEOUT_MS,
    );
  });
}
