import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Standin, startStandin } from '@tidegate/standin';
import { eventually } from '@tidegate/testing';
import { expectAccessibleInBoth, expectInReach, expectStill } from '../support/browser.ts';
import { must, OPERATOR } from '../support/control.ts';
import { dayWithRoom, pressCopy, rowOf, type Site, TEST_TIMEOUT_MS, textOf } from './site.ts';

export function describeRequests(site: Site): void {
  describe('the list of requests', () => {
    let standin: Standin;
    beforeAll(async () => {
      standin = await startStandin({ names: ['logged'], contextTokens: 1_000 });
    });
    afterAll(() => standin.close());

    it(
      'shows viewers each counted request as it ends, filters them, and finds one by its id',
      async () => {
        await dayWithRoom();
        const org = await site.organization('Logged');
        const settings = { kind: 'text', mode: 'always_on', contextTokens: 1_000 } as const;
        const model = { org, name: 'logged', urls: [`${standin.url}/v1`], ...settings };
        must(await site.control().publishModel(OPERATOR, model));
        const { key } = await site.newKey('Watched', { org });
        await eventually(async () => (await site.ask(key, { model: 'logged' })).status === 200);
        const { page, errors } = await site.signedIn(await site.person('viewer', org));
        const { control } = site;
        await eventually(
          async () => must(await control().listRequests(OPERATOR, { org })).requests.length > 0,
        );
        await site.open(page, 'requests', org);
        const rows = page.getByRole('table', { name: 'List of requests' }).locator('tbody tr');
        await rows.first().waitFor();
        await expectAccessibleInBoth(page);
        await expectStill(page);
        await page.getByRole('link', { name: 'Why requests failed' }).click();
        await page.getByRole('heading', { name: 'Nothing failed' }).waitFor();
        await page.getByText('No counted request in the last 24 hours failed.').waitFor();
        await page.getByRole('link', { name: 'Requests', exact: true }).last().click();
        await page.getByRole('button', { name: 'Follow' }).click();

        const asked = await fetch(`${site.stack().info.gateway}/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: JSON.stringify({
            model: 'logged',
            stream: true,
            messages: [{ role: 'user', content: 'Hi' }],
          }),
        });
        const id = asked.headers.get('x-request-id') ?? '';
        await asked.text();
        const row = rowOf(page, id);
        await row.waitFor();
        expect(await textOf(row)).toMatch(/Watchedlogged200\d+, \d+[\d.]+ m?s[\d.]+ m?sreq_/);
        await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
        await pressCopy(row.getByRole('button', { name: `Copy ${id}` }), 'Copied');
        expect(await page.evaluate('navigator.clipboard.readText()')).toBe(id);

        expect((await site.ask(key, { model: 'logged', content: '[[status=500]]' })).status).toBe(502);
        expect((await site.ask(key, { model: 'nothing' })).status).toBe(404);
        await page.getByLabel('Result').selectOption('errors');
        await page.getByRole('button', { name: 'Filter', exact: true }).click();
        await rowOf(page, 'upstream_error').waitFor();
        expect(await rows.count()).toBe(1);
        expect(await textOf(rows.first())).toContain('502');
        expect(await textOf(rows.first())).toContain('Unreported1,000 charged');
        await page.getByLabel('Result').selectOption('upstream_error');
        await page.getByRole('button', { name: 'Filter', exact: true }).click();
        await page.getByText('The model failed: no answer in time').waitFor();
        await rowOf(page, 'upstream_error').waitFor();

        await page.getByRole('link', { name: 'Why requests failed' }).click();
        await page.getByRole('link', { name: 'why requests were refused' }).waitFor();
        await page.getByRole('link', { name: '7 days' }).click();
        await page.getByText('In the last 7 days, by day (UTC).', { exact: true }).waitFor();
        expect(await textOf(rowOf(page, 'The model failed'))).toMatch(
          /\(502\)1.*(just now|ago)The model failed.*Retry\./,
        );
        const perDay = page.getByRole('table', { name: 'Errors by code over time' }).getByRole('cell');
        expect(await perDay.allTextContents()).toEqual(['0', '0', '0', '0', '0', '0', '1']);
        const refused = page.getByRole('table', { name: 'Refusals by cause', exact: true }).locator('tr');
        const unknown = refused.filter({ hasText: 'Unknown model' });
        await eventually(async () =>
          must(await control().showRefusals(OPERATOR, { org })).causes.some(
            ({ code }) => code === 'model_not_found',
          ),
        );
        await page.reload();
        await unknown.waitFor();
        expect(await textOf(unknown)).toMatch(/model_not_found \(404\)\d.*Check the name.*Open API$/);
        const refusedKeys = page.getByRole('table', { name: 'Refusals by key' });
        await refusedKeys.getByRole('link', { name: 'Watched' }).waitFor();
        await page.getByRole('table', { name: 'Refusals by cause over time' }).waitFor({ state: 'attached' });
        await rowOf(page, 'The model failed').waitFor();
        await expectAccessibleInBoth(page);
        await expectStill(page);
        for (const width of [390, 1280]) {
          await page.setViewportSize({ width, height: 900 });
          await expectInReach(page);
          expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
        }
        const byKey = page.getByRole('table', { name: 'Errors by key' });
        await byKey.getByRole('link', { name: 'Watched' }).click();
        await page.getByLabel('Request id').waitFor();
        expect(await page.getByLabel('Result').inputValue()).toBe('errors');
        await rowOf(page, 'upstream_error').waitFor();
        expect(await rows.count()).toBe(1);

        await page.getByLabel('Request id').fill(id.replace('req_', 'chatcmpl-'));
        await page.getByRole('button', { name: 'Find' }).click();
        await rowOf(page, id).waitFor();
        expect(await rows.count()).toBe(1);
        await page.getByLabel('Request id').fill('nonsense');
        await page.getByRole('button', { name: 'Find' }).click();
        await page.getByText('Request id must be 24 letters and digits').waitFor();
        expect(errors).toEqual([]);
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'leads from a request to its key and its model, from each of them back to its requests, and from a day to those of that day',
      async () => {
        const { id: keyId, key } = await site.newKey('Linked');
        expect((await site.ask(key)).status).toBe(200);
        const of = { org: 'demo', keyId };
        const { control } = site;
        await eventually(async () => must(await control().listRequests(OPERATOR, of)).requests.length === 1);
        const [request] = must(await control().listRequests(OPERATOR, of)).requests;
        const { page, errors } = await site.signedIn(await site.person('viewer'));
        await site.open(page, `requests?key=${keyId}`);
        const row = rowOf(page, request?.id ?? '');
        await row.getByRole('link', { name: 'Linked' }).click();
        await page.waitForURL(`**/o/demo/keys/${keyId}`);
        await page.getByRole('link', { name: 'Latest requests' }).click();
        await page.waitForURL(`**/o/demo/requests?key=${keyId}`);
        await row.getByRole('link', { name: 'demo-text' }).click();
        await page.waitForURL(`**/o/demo/api/${request?.modelId}`);
        expect(await page.getByRole('link', { name: 'Usage by key' }).getAttribute('href')).toBe(
          `/o/demo/usage?model=${request?.modelId}`,
        );
        await page.getByRole('link', { name: 'Latest requests' }).click();
        await page.waitForURL(`**/o/demo/requests?model=${request?.modelId}`);
        await row.getByRole('link', { name: request?.id ?? '' }).click();
        await page.waitForURL(`**/o/demo/requests?id=${request?.id}`);
        await site.open(page, `keys/${keyId}`);
        await page.locator('.recharts-bar-rectangle path').first().click();
        await page.waitForURL(new RegExp(`/requests\\?key=${keyId}&from=.*T00%3A00&to=.*T00%3A00$`));
        await row.waitFor();
        expect(errors).toEqual([]);
      },
      TEST_TIMEOUT_MS,
    );
  });
}
