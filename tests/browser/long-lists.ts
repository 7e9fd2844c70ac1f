import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { closeDb, createDb, type Db } from '@tidegate/db';
import { eventually, PATIENT_DB } from '@tidegate/testing';
import type { Page } from 'playwright-core';
import { expectAccessible, expectInReach, expectStill } from '../support/browser.ts';
import { must, OPERATOR } from '../support/control.ts';
import { focused, type Site, TEST_TIMEOUT_MS, textOf } from './site.ts';

const MANY = 120;
const numbers = Array.from({ length: MANY }, (_, n) => String(n).padStart(3, '0'));

/** Creates revoked keys, and models, the last of which has failed. */
async function fill(db: Db, slug: string): Promise<void> {
  const { id: orgId } = await db.org.findUniqueOrThrow({ where: { slug } });
  await db.apiKey.createMany({
    data: numbers.map((n) => ({
      id: `key_${slug}${n}`,
      orgId,
      name: `Key ${n}`,
      prefix: `ti_${n}`,
      hash: new Uint8Array(
        createHash('sha256')
          .update(slug + n)
          .digest(),
      ),
      revokedAt: new Date(),
      allModels: true,
      requestsPerMinute: 60,
      requestsAtOnce: 4,
      createdAt: new Date(Number(n)),
    })),
  });
  await db.model.createMany({
    data: numbers.map((n) => ({
      ...({ id: `mdl_${slug}${n}`, orgId, name: `model-${n}`, kind: 'text', mode: 'always_on' } as const),
      contextTokens: 1_000,
      driver: 'external',
      settings: { urls: ['http://127.0.0.1:9/v1'] },
      condition: Number(n) === MANY - 1 ? ('failed' as const) : ('stopped' as const),
    })),
  });
}

const DAY_MS = 86_400_000;

/**
 * Creates usage of yesterday, of each key with the model of the same number. A higher number is
 * busier.
 */
async function use(db: Db, slug: string): Promise<void> {
  const { id: orgId } = await db.org.findUniqueOrThrow({ where: { slug } });
  const of = { orgId, day: new Date(Date.now() - DAY_MS) };
  const none = { errors: 0, promptTokens: 1, completionTokens: 1, unreportedTokens: 0 };
  await db.usageDay.createMany({
    data: numbers.map((n) => ({
      ...of,
      ...none,
      keyId: `key_${slug}${n}`,
      modelId: `mdl_${slug}${n}`,
      requests: Number(n) + 1,
      durationMsSum: 1,
      durationCount: 1,
    })),
  });
}

const rowsOf = (page: Page) => page.locator('tbody').getByRole('rowheader');

export function describeLongLists(site: Site): void {
  describe('a long list', () => {
    it(
      'comes with its first rows, and shows and finds the others when they are looked for',
      async () => {
        const org = await site.organization('Crowded');
        const db = createDb(site.stack().info.postgres, { ...PATIENT_DB, maxConnections: 1 });
        await fill(db, org).finally(() => closeDb(db));
        const { page, errors } = await site.signedIn(await site.person('owner', org));
        await site.open(page, 'keys', org);
        const more = page.getByRole('button', { name: 'Show more (70)' });
        await more.waitFor();
        expect(await rowsOf(page).count()).toBe(50);
        expect((await page.content()).includes('Key 000')).toBe(false);
        await more.click();
        await page.getByText('Key 020').waitFor();
        await eventually(async () => (await rowsOf(page).count()) === 100);
        await site.open(page, 'keys', org);
        await page.getByLabel('Filter by name or first characters').fill('key 00');
        await page.getByText('Key 000').waitFor();
        await eventually(async () => (await rowsOf(page).count()) === 10);

        const api = page.getByRole('link', { name: 'API', exact: true });
        // The runner takes the models over, and tries to start the failed one.
        await eventually(async () => {
          const { failedModels } = must(await site.control().showAttention(OPERATOR, { org }));
          if (failedModels === 0) return false;
          await site.open(page, 'keys', org);
          return (await api.getAttribute('title')) === 'A model has failed.';
        });
        await api.click();
        await page.getByText('1 model has failed.').waitFor();
        expect(await textOf(rowsOf(page).first())).toContain(`model-${MANY - 1}`);
        expect(await rowsOf(page).count()).toBe(50);
        await expectAccessible(page);
        await page.getByLabel('Filter by name', { exact: true }).fill('-07');
        await page.getByText('model-070').waitFor();
        await eventually(async () => (await rowsOf(page).count()) === 10);
        await page.getByRole('link', { name: '1 model has failed' }).click();
        await page.waitForURL('**/api?condition=failed*');
        await eventually(async () => (await rowsOf(page).count()) === 1);
        expect(await textOf(rowsOf(page))).toContain(`model-${MANY - 1}`);
        await page.getByRole('button', { name: /Failed \(1\)/ }).click();
        await page.getByRole('option', { name: 'Stopped' }).click();
        await eventually(async () => (await rowsOf(page).count()) === 50);
        await page.setViewportSize({ width: 390, height: 844 });
        await expectInReach(page);

        await site.open(page, 'keys', org);
        await page.getByRole('button', { name: 'Create key' }).click();
        const dialog = page.getByRole('dialog');
        await dialog.getByRole('button', { name: /May call/ }).click();
        await page.getByRole('option', { name: /Chosen models/ }).click();
        await dialog.getByText(`0 of ${MANY} chosen`).waitFor();
        await dialog.getByLabel('Filter the models').fill('-07');
        await dialog.getByLabel('Filter the models').press('Enter');
        await dialog.getByText('model-073', { exact: true }).click();
        await dialog.getByText(`1 of ${MANY} chosen`).waitFor();
        expect(await dialog.getByRole('checkbox').count()).toBe(10);
        await expectInReach(page, '[role=dialog]');
        await dialog.getByText('model-074', { exact: true }).click();
        await dialog.getByText(`2 of ${MANY} chosen`).waitFor();
        must(await site.control().deleteModel(OPERATOR, { org, name: 'model-073' }));
        await dialog.getByText(`1 of ${MANY - 1} chosen`).waitFor();
        await dialog.getByLabel('Name', { exact: true }).fill('Chosen');
        await dialog.getByRole('button', { name: 'Create key' }).click();
        await page.getByText('“Chosen” is ready').waitFor();
        expect(errors).toEqual([]);
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'of usage comes with its busiest rows, also without scripts; the others and the choices come when they are looked for',
      async () => {
        const org = await site.organization('Used');
        const db = createDb(site.stack().info.postgres, { ...PATIENT_DB, maxConnections: 1 });
        await fill(db, org)
          .then(() => use(db, org))
          .finally(() => closeDb(db));
        const viewer = await site.person('viewer', org);
        const { page: plain } = await site.signedIn(viewer, { context: { javaScriptEnabled: false } });
        await site.open(plain, 'usage', org);
        const used = (page: Page) => page.getByLabel('Usage by key and model').locator('tbody tr');
        expect(await used(plain).count()).toBe(50);
        expect(await textOf(used(plain).first())).toContain('Key 119');

        const { page, errors } = await site.signedIn(viewer);
        await site.open(page, 'usage', org);
        await page.getByRole('definition').getByText('7,260', { exact: true }).waitFor();
        const more = page.getByRole('button', { name: 'Show more (70)' });
        await more.waitFor();
        expect(await page.content()).not.toContain('Key 069');
        await expectStill(page);
        await more.click();
        await eventually(async () => (await used(page).count()) === 100);
        // Asks for the page as a live refresh does.
        const sent = await (await page.request.get(page.url(), { headers: { rsc: '1' } })).text();
        expect(sent).toContain('Key 020');
        expect(sent).not.toContain('Key 019');
        await page.getByRole('button', { name: 'Show more (20)' }).click();
        await eventually(async () => (await used(page).count()) === MANY);
        expect(await textOf(used(page).last())).toContain('Key 000');
        // The button is gone. The rows go on where it was.
        await eventually(async () => (await focused(page)).includes('Key 019'));

        await page.getByRole('button', { name: /All keys/ }).click();
        await page.getByRole('option', { name: /Key 000/ }).click();
        await eventually(async () => (await used(page).count()) === 1);
        expect(await textOf(used(page))).toContain('Key 000');
        await page.getByRole('button', { name: /All models/ }).click();
        await page.getByRole('option', { name: 'model-119' }).click();
        await page.getByText('No usage in this period.').first().waitFor();
        // Key and model are shown by name, although they have no usage together.
        await page.getByRole('button', { name: /Key 000/ }).waitFor();
        await page.getByRole('button', { name: /model-119/ }).waitFor();
        await expectAccessible(page);
        await page.getByRole('button', { name: /Key 000/ }).click();
        await page.getByRole('option', { name: 'All keys' }).click();
        await eventually(async () => (await textOf(used(page)).catch(() => '')).includes('Key 119'));
        expect(errors).toEqual([]);
      },
      TEST_TIMEOUT_MS,
    );
  });
}
