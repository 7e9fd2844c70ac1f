import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { UsageCounts as CountsView, UsageView } from '@tidegate/control';
import { type Standin, startStandin } from '@tidegate/standin';
import { eventually } from '@tidegate/testing';
import { expectAccessible, expectStill } from '../support/browser.ts';
import { must, OPERATOR } from '../support/control.ts';
import { ctl } from '../support/stack.ts';
import { type Asked, dayWithRoom, type Site, TEST_TIMEOUT_MS, textOf } from './site.ts';
import {
  type Counts,
  choose,
  csvOn,
  daysOn,
  daysShown,
  modelsOn,
  type Row,
  rowLink,
  rowsOn,
  totalOf,
} from './usage-page.ts';

const CONTEXT_TOKENS = 1_000;
/** A plan's monthly tokens, of which one full reservation takes more than 80 %. */
const SMALL_MONTH_TOKENS = 1_200;
const STREAMED = { stream: true, stream_options: { include_usage: true } };

const NOTHING: Counts = [0, 0, 0, 0, 0];
const add = (a: Counts, b: Counts): Counts => a.map((value, i) => value + (b[i] ?? 0)) as Counts;
const sumOf = (all: readonly Counts[]): Counts => all.reduce(add, NOTHING);
const written = (counts: Counts): string[] => counts.map((count) => count.toLocaleString('en-US'));

/**
 * Sends a request. Returns how it must be counted: the tokens that the API reported, or else the
 * whole reservation.
 */
async function counted(site: Site, key: string, request: Asked, error = false): Promise<Counts> {
  const { tokens } = await site.ask(key, request);
  const told = tokens.in > 0 && !error;
  return [
    1,
    error ? 1 : 0,
    ...(told ? ([tokens.in, tokens.out, 0] as const) : ([0, 0, CONTEXT_TOKENS] as const)),
  ];
}

/**
 * Sends requests of three keys to two models. Some fail and some are refused. Then deletes one key.
 * Rows come busiest first.
 */
async function askAround(
  site: Site,
  org: string,
): Promise<{ rows: Row[]; refused: string[]; deleted: string }> {
  const [first, second, third] = [
    await site.newKey('First', { org, requestsAtOnce: 16 }),
    await site.newKey('Second', { org }),
    await site.newKey('Third', { org, requestsPerMinute: 1 }),
  ];
  const [tide, lamp] = [{ model: 'tide' }, { model: 'lamp' }];
  const rowOf = async (key: string, model: string, asked: Promise<Counts>[]): Promise<Row> => ({
    key,
    model,
    counts: sumOf(await Promise.all(asked)),
  });
  const rows = [
    await rowOf('First', 'tide', [
      ...[{}, {}, {}, STREAMED, STREAMED].map((more) => counted(site, first.key, { ...tide, ...more })),
      counted(site, first.key, { ...tide, ...STREAMED, content: '[[after=1]][[die]]' }, true),
    ]),
    await rowOf('Second', 'lamp', [
      ...[1, 2].map(() => counted(site, second.key, lamp)),
      counted(site, second.key, { ...lamp, content: '[[status=500]]' }, true),
    ]),
    await rowOf('Second', 'tide', [
      counted(site, second.key, tide),
      counted(site, second.key, { ...tide, content: '[[no-usage]]' }),
    ]),
    await rowOf('A deleted key', 'tide', [counted(site, third.key, tide)]),
  ];
  const refused = [
    await site.ask(third.key, tide),
    await site.ask(`${first.key}x`, tide),
    await site.ask(first.key, { model: 'nothing' }),
    await site.ask(first.key, { ...tide, temperature: 3 }),
  ].map(({ code = '' }) => code);
  must(await site.control().revokeKey(OPERATOR, { org, id: third.id }));
  must(await site.control().deleteKey(OPERATOR, { org, id: third.id }));
  return { rows, refused, deleted: third.id };
}

export function describeUsage(site: Site): void {
  describe('the usage screen', () => {
    let standin: Standin;
    beforeAll(async () => {
      standin = await startStandin({ names: ['tide', 'lamp'], contextTokens: CONTEXT_TOKENS });
    });
    afterAll(() => standin.close());

    const publish = async (org: string) => {
      for (const name of ['tide', 'lamp']) {
        const how = { kind: 'text', mode: 'always_on', contextTokens: CONTEXT_TOKENS } as const;
        must(await site.control().publishModel(OPERATOR, { org, name, ...how, urls: [`${standin.url}/v1`] }));
      }
      await eventually(async () =>
        must(await site.control().listModels(OPERATOR, { org })).every(
          ({ condition }) => condition === 'running',
        ),
      );
    };

    it(
      'keeps its place however long the times are, at any width',
      async () => {
        const { page } = await site.signedIn();
        await site.open(page, 'usage');
        const totals = page.locator('dl').filter({ has: page.getByText('First chunk', { exact: true }) });
        // What is still being streamed is in the page, but hidden and without a height.
        await totals.waitFor();
        const heightWith = async (note: string) => {
          for (const name of ['Average time', 'First chunk'])
            await totalOf(page, name)
              .locator('dd')
              .last()
              .evaluate((element, text) => {
                element.textContent = text;
              }, note);
          return totals.evaluate(({ clientHeight }) => clientHeight);
        };
        for (const width of [360, 390, 768, 1024, 1280, 1440, 1920]) {
          await page.setViewportSize({ width, height: 900 });
          const short = await heightWith('');
          expect(short).toBeGreaterThan(0);
          expect([width, await heightWith('p50 612.4 s · p95 629.9 s')]).toEqual([width, short]);
        }
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'counts what the API answered, to the request and the token, as ctl and the CSV do; nothing moves as it arrives [usage.screen]',
      async () => {
        await dayWithRoom();
        const org = await site.organization('Counted');
        await publish(org);
        const { page, errors } = await site.signedIn(await site.person('viewer', org));
        await site.open(page, 'usage', org);
        await page.getByText('No requests in the last 30 days').waitFor();
        await expectAccessible(page);

        const { rows, refused, deleted } = await askAround(site, org);
        expect(refused).toEqual([
          ...['rate_limit_exceeded', 'invalid_api_key', 'model_not_found', 'invalid_request'],
        ]);
        const total = sumOf(rows.map(({ counts }) => counts));
        const [requests, failed, tokensIn, tokensOut, reserved] = total;
        expect([requests, failed, reserved]).toEqual([12, 2, 3 * CONTEXT_TOKENS]);

        await totalOf(page, 'Requests').getByText('12', { exact: true }).waitFor();
        expect(await textOf(totalOf(page, 'Errors').locator('dd').first())).toBe('2');
        const tokens = totalOf(page, 'Tokens').locator('dd');
        expect(await tokens.first().getAttribute('title')).toBe(`${tokensIn} in, ${tokensOut} out`);
        expect(await textOf(tokens.last())).toBe('and 3K reserved or unreported');
        expect(await textOf(totalOf(page, 'Average time').locator('dd').first())).toMatch(/^\d.* m?s$/);
        await page.getByRole('rowheader', { name: 'A deleted key' }).waitFor();
        expect(await rowsOn(page)).toEqual(
          rows.map(({ key, model, counts }) => [key, model, ...written(counts)]),
        );
        expect(await daysOn(page)).toEqual([['10', '2']]);
        const charged = (tokensIn + tokensOut + reserved).toLocaleString('en-US');
        await page.getByText('12 used', { exact: true }).waitFor();
        await page.getByText(`${charged} used · 0 reserved by requests in progress`).waitFor();
        await expectStill(page);

        const told = await ctl<UsageView>(site.stack(), 'usage', 'show', '--org', org);
        const countsOf = (counts: CountsView): Counts => [
          ...([counts.requests, counts.errors, counts.promptTokens] as const),
          ...([counts.completionTokens, counts.reservedTokens] as const),
        ];
        expect(countsOf(told.totals)).toEqual(total);
        expect(sumOf(told.days.map(countsOf))).toEqual(total);
        expect(told.rows.map((row) => ({ key: row.key, model: row.model, counts: countsOf(row) }))).toEqual(
          rows,
        );

        const inCsv = rows.map((row) => (row.key === 'A deleted key' ? { ...row, key: deleted } : row));
        expect(await csvOn(site, page)).toEqual(inCsv);
        await choose(page, /All keys/, /Second/);
        await totalOf(page, 'Requests').getByText('5', { exact: true }).waitFor();
        // The plan belongs to the organization, so that panel does not show the usage of one key.
        const month = page.locator('section').filter({ has: page.getByText('Counting starts again on') });
        expect(await textOf(month.getByRole('heading'))).toMatch(/^\w+ \d{4}, whole organization$/);
        await month.getByText('12 used', { exact: true }).waitFor();
        expect(await csvOn(site, page)).toEqual(inCsv.slice(1, 3));
        await choose(page, /All models/, /lamp/);
        await totalOf(page, 'Requests').getByText('3', { exact: true }).waitFor();
        expect(await rowsOn(page)).toHaveLength(1);
        expect(await daysOn(page)).toEqual([['2', '1']]);
        expect(await csvOn(site, page)).toEqual(inCsv.slice(1, 2));

        await page.getByRole('link', { name: '24 hours', exact: true }).click();
        await page.waitForURL('**/usage?key=*&model=*&period=24h');
        const hours = page.getByRole('table', { name: 'Requests per hour' }).locator('tbody tr');
        await eventually(async () => (await hours.count()) === 24);
        await totalOf(page, 'Requests').getByText('3', { exact: true }).waitFor();
        const [model] = await modelsOn(page);
        expect(model?.slice(0, 3)).toEqual(['lamp', '3', '1']);
        // For a key there is only the average.
        expect(model).toHaveLength(6);
        expect(await csvOn(site, page)).toEqual(inCsv.slice(1, 2));
        await expectAccessible(page);

        await page.getByRole('link', { name: '7 days', exact: true }).click();
        await page.waitForURL('**/usage?key=*&model=*&period=7d');
        await eventually(async () => (await daysShown(page)) === 7);
        expect(await csvOn(site, page)).toEqual(inCsv.slice(1, 2));
        await expectAccessible(page);
        await rowLink(page, 'Second').click();
        await totalOf(page, 'Requests').getByText('5', { exact: true }).waitFor();
        await page.getByLabel('Usage by model').getByRole('link', { name: 'tide', exact: true }).click();
        await totalOf(page, 'Requests').getByText('9', { exact: true }).waitFor();
        const [tide] = await modelsOn(page);
        expect(tide?.slice(0, 3)).toEqual(['tide', '9', '1']);
        expect(tide).toHaveLength(10);
        for (const time of tide?.slice(5) ?? []) expect(time).toMatch(/^\d.* m?s$/);
        expect(await daysShown(page)).toBe(7);
        const bar = page.locator('.recharts-bar-rectangle path').first();
        await bar.hover();
        await page.getByText(/ UTCAnswered8Errors1$/).waitFor();
        await bar.click();
        await page.waitForURL(/\/requests\?model=.*&from=.*T00%3A00&to=.*T00%3A00$/);
        const listed = page.getByLabel('List of requests').locator('tbody tr');
        await eventually(async () => (await listed.count()) === 9);
        expect(errors).toEqual([]);
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'shows what requests in progress have reserved of the month, what is left, and when it starts again, and warns when little is left',
      async () => {
        const monthly = { requestsPerMonth: 1_000, tokensPerMonth: SMALL_MONTH_TOKENS };
        const rest = { keys: 2, requestsAtOnce: 64, requestsPerMinute: 600, images: false };
        must(await site.control().setPlan(OPERATOR, { name: 'Small month', ...monthly, ...rest }));
        const org = await site.organization('In progress', 'Small month');
        await publish(org);
        const { page } = await site.signedIn(await site.person('viewer', org));
        const { key } = await site.newKey('Long', { org });
        const leaving = new AbortController();
        const stalled = fetch(`${site.stack().info.gateway}/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model: 'tide', messages: [{ role: 'user', content: '[[stall]]' }] }),
          signal: leaving.signal,
        });
        try {
          await site.open(page, 'usage', org);
          await page.getByText(/0 used · 1,000 reserved by requests in progress/).waitFor();
          await page.getByText('200 of 1,200 left').waitFor();
          expect(await textOf(page.getByText('Counting starts again on').locator('time'))).toMatch(
            /^1 .* UTC$/,
          );
        } finally {
          leaving.abort();
          await stalled.catch(() => {});
        }
        await page.getByText('1,000 used · 0 reserved by requests in progress').waitFor();
        const little = page.getByText("83% of the whole organization's tokens for the month");
        await little.getByText('Ask an owner to change to a larger plan').waitFor();
        await expectAccessible(page);
        await page.getByRole('main').getByRole('link', { name: 'plan', exact: true }).click();
        await page.waitForURL('**/plan');
        await little.getByText('Ask an owner to change to a larger plan').waitFor();
        await expectAccessible(page);
      },
      TEST_TIMEOUT_MS,
    );
  });
}
