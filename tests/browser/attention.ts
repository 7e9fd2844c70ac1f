import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Standin, startStandin } from '@tidegate/standin';
import { eventually } from '@tidegate/testing';
import type { Locator } from 'playwright-core';
import { must, OPERATOR } from '../support/control.ts';
import { type Site, TEST_TIMEOUT_MS } from './site.ts';

const CONTEXT_TOKENS = 1_000;
/** From this many on, errors are a reason to look. */
const FAILING = 5;

export function describeAttention(site: Site): void {
  describe('the navigation', () => {
    let standin: Standin;
    beforeAll(async () => {
      standin = await startStandin({ names: ['tide'], contextTokens: CONTEXT_TOKENS });
    });
    afterAll(() => standin.close());

    it(
      'marks the screens that say what is wrong, wherever the user is, even those behind More',
      async () => {
        const org = await site.organization('Attention');
        const publish = async (name: string) => {
          const how = { kind: 'text', mode: 'always_on', contextTokens: CONTEXT_TOKENS } as const;
          must(
            await site.control().publishModel(OPERATOR, { org, name, ...how, urls: [`${standin.url}/v1`] }),
          );
        };
        await publish('tide');
        const { page, errors } = await site.signedIn(await site.person('owner', org));
        const screen = (name: string) => page.getByLabel('Screens').getByRole('link', { name, exact: true });
        const isMarked = (at: Locator) => at.locator('.bg-danger').isVisible();
        await site.open(page, 'keys', org);
        for (const name of ['API', 'Usage', 'Requests'])
          expect([name, await isMarked(screen(name))]).toEqual([name, false]);

        await publish('not-served');
        const { key } = await site.newKey('Failing', { org });
        await eventually(
          async () => (await site.ask(key, { model: 'tide', content: '[[status=500]]' })).status === 502,
        );
        for (let i = 1; i < FAILING; i++) await site.ask(key, { model: 'tide', content: '[[status=500]]' });
        await eventually(async () => {
          const known = must(await site.control().showAttention(OPERATOR, { org }));
          if (known.failedModels === 0 || known.errors < FAILING) return false;
          await site.open(page, 'keys', org);
          return (await isMarked(screen('API'))) && (await isMarked(screen('Requests')));
        });
        expect(await screen('API').getAttribute('title')).toBe('A model has failed.');
        expect(await screen('Requests').getAttribute('title')).toMatch(/^100% of the requests/);
        expect(await isMarked(screen('Usage'))).toBe(false);
        await page.setViewportSize({ width: 390, height: 844 });
        const more = page.getByRole('button', { name: 'More', exact: true });
        expect([await isMarked(screen('API')), await isMarked(more)]).toEqual([true, true]);
        await more.click();
        await page
          .getByRole('menuitem', { name: 'Requests' })
          .getByText(/^100% of the requests/)
          .waitFor();
        expect(errors).toEqual([]);
      },
      TEST_TIMEOUT_MS,
    );
  });
}
