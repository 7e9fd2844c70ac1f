import { describe, expect, it } from '@jest/globals';
import { closeDb, createDb } from '@tidegate/db';
import { PATIENT_DB } from '@tidegate/testing';
import type { Page } from 'playwright-core';
import { dayWithRoom, type Site, TEST_TIMEOUT_MS } from './site.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Usage of this hour, of some days ago and of weeks ago. */
const USED = [
  { agoMs: 0, requests: 1 },
  { agoMs: 3 * DAY_MS, requests: 10 },
  { agoMs: 20 * DAY_MS, requests: 100 },
];

/** Gives an organization usage of three ages, as if metering had written it. */
async function use(site: Site, slug: string): Promise<void> {
  const db = createDb(site.stack().info.postgres, { ...PATIENT_DB, maxConnections: 1 });
  try {
    const { id: orgId } = await db.org.findUniqueOrThrow({ where: { slug } });
    for (const { agoMs, requests } of USED) {
      const of = { orgId, keyId: 'key_a', modelId: 'mdl_a', ...COUNTED, requests };
      const begunMs = (stepMs: number) => Math.floor((Date.now() - agoMs) / stepMs) * stepMs;
      await db.usageDay.create({ data: { ...of, day: new Date(begunMs(DAY_MS)) } });
      await db.usageHour.create({ data: { ...of, hour: new Date(begunMs(HOUR_MS)) } });
    }
  } finally {
    await closeDb(db);
  }
}
const COUNTED = {
  ...{ errors: 0, promptTokens: 0, completionTokens: 0, unreportedTokens: 0 },
  ...{ durationMsSum: 0, durationCount: 0 },
};

/** Clicks the link and reads the file that the browser saves. */
async function download(page: Page, name: string) {
  const saving = page.waitForEvent('download');
  await page.getByRole('link', { name, exact: true }).click();
  const file = await saving;
  const pieces: Buffer[] = [];
  for await (const piece of await file.createReadStream()) pieces.push(piece as Buffer);
  const [header = [], ...rows] = Buffer.concat(pieces)
    .toString()
    .trimEnd()
    .split('\r\n')
    .map((line) => line.split(','));
  const requests = rows.map((row) => Number(row[header.indexOf('requests')]));
  return { spanMs: spanOf(file.suggestedFilename()), unit: header[0], requests };
}

/** The time from the first to the last day or hour in a file's name. */
function spanOf(name: string): number {
  const [, first = '', last = ''] = /^usage-exported-(\S+)-to-(\S+)\.csv$/.exec(name) ?? [];
  const [from = 0, to = 0] = [first, last].map((step) => Date.parse(step.replace('Z', ':00Z')));
  return to - from;
}

export function describeCsv(site: Site): void {
  describe('the CSV of the usage', () => {
    it(
      'has the period that the page shows, by day or by hour, and its name says which',
      async () => {
        await dayWithRoom();
        const org = await site.organization('Exported');
        await use(site, org);
        const { page } = await site.signedIn(await site.person('viewer', org));
        await site.open(page, 'usage', org);
        expect(await download(page, 'Download CSV of 30 days')).toEqual({
          ...{ spanMs: 29 * DAY_MS, unit: 'day', requests: [100, 10, 1] },
        });
        await page.getByRole('link', { name: '7 days', exact: true }).click();
        expect(await download(page, 'Download CSV of 7 days')).toEqual({
          ...{ spanMs: 6 * DAY_MS, unit: 'day', requests: [10, 1] },
        });
        await page.getByRole('link', { name: '24 hours', exact: true }).click();
        expect(await download(page, 'Download CSV of 24 hours')).toEqual({
          ...{ spanMs: 23 * HOUR_MS, unit: 'hour', requests: [1] },
        });
      },
      TEST_TIMEOUT_MS,
    );
  });
}
