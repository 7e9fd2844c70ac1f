import type { Page } from 'playwright-core';
import { type Site, textOf } from './site.ts';

/**
 * The usage of one key and one model: requests, errors, tokens in, tokens out, and tokens
 * reserved or unreported.
 */
export type Counts = [number, number, number, number, number];

export interface Row {
  readonly key: string;
  readonly model: string;
  readonly counts: Counts;
}

export const totalOf = (page: Page, name: string) =>
  page.locator('dl > div').filter({ has: page.getByText(name, { exact: true }) });

/** The table by key and model, without the keys' first characters and the average times. */
export async function rowsOn(page: Page): Promise<string[][]> {
  const rows = await page.getByLabel('Usage by key and model').locator('tbody tr').all();
  return Promise.all(
    rows.map(async (row) => {
      const cells = await row.getByRole('cell').allTextContents();
      return [await textOf(row.getByRole('rowheader').locator('span').first()), ...cells.slice(0, 6)];
    }),
  );
}

/** The table by model, as names and cells. */
export async function modelsOn(page: Page): Promise<string[][]> {
  const rows = await page.getByLabel('Usage by model').locator('tbody tr').all();
  return Promise.all(
    rows.map(async (row) => [
      await textOf(row.getByRole('rowheader')),
      ...(await row.getByRole('cell').allTextContents()),
    ]),
  );
}

/** The chart's days with requests, from its table for screen readers. */
export const daysOn = async (page: Page): Promise<string[][]> =>
  (
    await Promise.all(
      (
        await page.getByRole('table', { name: 'Requests per day' }).locator('tbody tr').all()
      ).map((row) => row.getByRole('cell').allTextContents()),
    )
  ).filter((cells) => cells.some((cell) => cell !== '0'));

export const daysShown = (page: Page): Promise<number> =>
  page.getByRole('table', { name: 'Requests per day' }).locator('tbody tr').count();

export const rowLink = (page: Page, name: string) =>
  page.getByLabel('Usage by key and model').getByRole('link', { name, exact: true }).first();

/** The rows of the CSV that the page offers. Names the deleted key by its id. */
export async function csvOn(site: Site, page: Page): Promise<Row[]> {
  const href = await page.getByRole('link', { name: 'Download CSV' }).getAttribute('href');
  const text = await (await page.request.get(`${site.url()}${href}`)).text();
  return text
    .trimEnd()
    .split('\r\n')
    .slice(1)
    .map((line) => line.split(','))
    .map(([, key = '', prefix, id = '', model = '', , ...counts]) => ({
      key: prefix ? key : id,
      model,
      counts: counts.slice(0, 5).map(Number) as Counts,
    }));
}

export async function choose(page: Page, from: RegExp, option: RegExp): Promise<void> {
  await page.getByRole('button', { name: from }).click();
  await page.getByRole('option', { name: option }).click();
}
