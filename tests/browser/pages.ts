import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { closeDb, createDb } from '@tidegate/db';
import { eventually, PATIENT_DB } from '@tidegate/testing';
import type { Page } from 'playwright-core';
import { expectAccessible, expectAccessibleInBoth, expectStill } from '../support/browser.ts';
import { must, OPERATOR } from '../support/control.ts';
import { SCREENS } from '../support/screens.ts';
import { slowly } from '../support/slowly.ts';
import { isPrefetch, lookAgain, type Site, TEST_TIMEOUT_MS } from './site.ts';

const LIVE = ['keys', 'api', 'usage', 'plan'];

/** Words of the code and of ctl, which no screen has. */
const INTERNAL = /always_on|wake_on_request|\brpm\b|[a-z]Id\b|contextTokens|sleepAfter|\bupstream\b|sha256/;

/** Refreshes twice. When the second refresh is answered, the first one is visible. */
async function refreshed(page: Page): Promise<void> {
  for (let i = 0; i < 2; i++) {
    const answered = page.waitForResponse(
      (response) => response.url().includes('_rsc=') && !isPrefetch(response.request()),
    );
    await lookAgain(page);
    await answered;
  }
}

export function describePages(site: Site): void {
  describe('every page', () => {
    it.each([
      { width: 1280, scheme: 'light' },
      { width: 390, scheme: 'dark' },
    ] as const)(
      'is accessible in $scheme, fits $width pixels, moves nothing by itself, fetches no other page and reports no error',
      async ({ width, scheme }) => {
        const looks = { colorScheme: scheme, viewport: { width, height: 844 } };
        const entrance = await site.visit(looks);
        await entrance.page.goto(`${site.url()}/sign-in`);
        await expectAccessible(entrance.page);
        await expectStill(entrance.page);
        const { page, errors } = await site.signedIn(site.owner(), looks);
        const prefetched: string[] = [];
        page.on('request', (request) => {
          if (isPrefetch(request)) prefetched.push(request.url());
        });
        for (const screen of [...SCREENS, 'account']) {
          await page.goto(`${site.url()}/${screen === 'account' ? screen : `o/demo/${screen}`}`);
          await page.getByRole('heading', { level: 1 }).waitFor();
          if (LIVE.includes(screen)) await refreshed(page);
          await expectAccessible(page);
          await expectStill(page);
          expect(await page.evaluate('document.body.innerText')).not.toMatch(INTERNAL);
          const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
          expect({ screen, overflow: Math.max(0, Number(overflow)) }).toEqual({ screen, overflow: 0 });
        }
        expect(prefetched).toEqual([]);
        expect([...entrance.errors, ...errors]).toEqual([]);
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'keeps what is shown in its place however slowly it arrives',
      async () => {
        const [model] = must(await site.control().listModels(OPERATOR, { org: 'demo' }));
        const [key] = must(await site.control().listKeys(OPERATOR, { org: 'demo' }));
        const screens = [...SCREENS, 'requests/errors', `api/${model?.id}`, `keys/${key?.id}`];
        const look = async (width: number, slow: string) => {
          const looks = { viewport: { width, height: 844 } };
          const entrance = await site.visit(looks);
          await entrance.page.goto(`${slow}/sign-in`);
          await expectStill(entrance.page);
          const { page, errors } = await site.signedIn(site.owner(), looks);
          for (const path of [...screens.map((screen) => `/o/demo/${screen}`), '/account']) {
            await page.goto(slow + path);
            expect(new URL(page.url()).pathname).toBe(path);
            await page.getByRole('heading', { level: 1 }).waitFor();
            await expectStill(page);
          }
          expect([...entrance.errors, ...errors]).toEqual([]);
        };
        await Promise.all(
          [1280, 390].map(async (width) => {
            const slow = await slowly(site.url());
            await look(width, slow.url).finally(slow.close);
          }),
        );
      },
      TEST_TIMEOUT_MS,
    );

    it.each([
      { screen: 'keys', dialogs: { 'Create key': 'dialog', 'Revoke Local stack': 'alertdialog' } },
      { screen: 'api', dialogs: { 'Publish model': 'dialog', 'Stop demo-text': 'alertdialog' } },
      { screen: 'plan', dialogs: { 'Change to Starter': 'alertdialog' } },
      { screen: 'members', dialogs: { Invite: 'dialog' } },
    ] as const)(
      'of $screen opens each dialog without moving anything behind it; it is accessible, and closes with Escape, back to where the user was',
      async ({ screen, dialogs }) => {
        const { page, errors } = await site.signedIn();
        await site.open(page, screen);
        for (const [button, role] of Object.entries(dialogs)) {
          const opener = page.getByRole('button', { name: button, exact: true });
          await opener.click();
          await page.getByRole(role).waitFor();
          await expectAccessibleInBoth(page);
          await expectStill(page, { pressed: true });
          await page.keyboard.press('Escape');
          await page.getByRole(role).waitFor({ state: 'detached' });
          await eventually(() =>
            opener.evaluate((element) => element.ownerDocument.activeElement === element),
          );
        }
        expect(errors).toEqual([]);
      },
      TEST_TIMEOUT_MS,
    );

    it.each([
      ['keys', 'Create key', 'Name', 'Create key', 'API key'],
      ['members', 'Invite', 'E-mail', 'Create link', 'Invitation link'],
    ] as const)(
      'of %s keeps the dialog behind "%s" open while it waits for what it will show once',
      async (screen, opener, label, make, shown) => {
        const { page } = await site.signedIn();
        await site.open(page, screen);
        await page.getByRole('button', { name: opener, exact: true }).click();
        const dialog = page.getByRole('dialog');
        await dialog.getByLabel(label).fill('awaited@example.com');
        let answer = () => {};
        const held = new Promise<void>((resolve) => {
          answer = resolve;
        });
        await page.route('**/*', async (route) => {
          if (route.request().method() === 'POST') await held;
          await route.continue();
        });
        const sent = page.waitForRequest((request) => 'next-action' in request.headers());
        await dialog.getByRole('button', { name: make }).click();
        await sent;
        await page.keyboard.press('Escape');
        await page.mouse.click(5, 5);
        expect(await dialog.getByRole('button', { name: 'Cancel' }).isDisabled()).toBe(true);
        expect(await dialog.getByRole('button', { name: 'Close' }).count()).toBe(0);
        answer();
        expect(await page.getByLabel(shown).inputValue()).toMatch(/^(ti_|http)/);
        await page.unrouteAll({ behavior: 'wait' });
      },
      TEST_TIMEOUT_MS,
    );

    it('has no transitions for users who prefer reduced motion, so that nothing lags behind a new theme', async () => {
      const { page } = await site.visit();
      await page.goto(`${site.url()}/sign-in`);
      const transitions = `[...document.querySelectorAll('*')].filter((element) =>
        getComputedStyle(element).transitionDuration.split(', ').some((time) => time !== '0s')).length`;
      expect(await page.evaluate(transitions)).toBe(0);
      await page.emulateMedia({ reducedMotion: 'no-preference' });
      expect(await page.evaluate(transitions)).toBeGreaterThan(0);
    });

    it('is printed in light colours, without the navigation', async () => {
      const { page } = await site.signedIn(site.owner(), { colorScheme: 'dark' });
      await site.open(page, 'usage');
      const theme = () => page.evaluate('document.documentElement.dataset.theme');
      const navigation = page.getByRole('navigation', { name: 'Screens' });
      await navigation.waitFor();
      expect(await theme()).toBe('dark');
      await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
      await navigation.waitFor({ state: 'hidden' });
      await eventually(async () => (await theme()) === 'light');
      await page.emulateMedia({ media: 'screen', colorScheme: 'dark' });
      await navigation.waitFor();
      await eventually(async () => (await theme()) === 'dark');
    });

    it('that does not exist says so in the same font, which comes with it, and in the same colours', async () => {
      const { page } = await site.visit({ colorScheme: 'dark' });
      const fontsOf = async (path: string) => {
        const answer = await page.goto(`${site.url()}${path}`);
        const used = await page.evaluate(`document.fonts.ready.then((fonts) => ({
          loaded: [...fonts].flatMap(({ family, status }) => (status === 'loaded' ? [family] : [])),
          ofHeading: getComputedStyle(document.querySelector('h1')).fontFamily,
          theme: document.documentElement.dataset.theme,
        }))`);
        return {
          sent: /<[^>]+\.woff2>; rel=preload; as="font"/.exec(answer?.headers().link ?? '')?.[0],
          used,
        };
      };
      const known = await fontsOf('/sign-in');
      expect(known).toMatchObject({
        sent: expect.any(String),
        used: { loaded: [expect.any(String)], theme: 'dark' },
      });
      expect(await fontsOf('/nowhere/at-all')).toEqual(known);
      await page.getByRole('heading', { name: 'There is nothing here' }).waitFor();
      expect((await fetch(page.url())).status).toBe(404);
    });

    it('that fails is one line of the log, without the address asked for', async () => {
      const { dataDir, info } = site.stack();
      const db = createDb(info.postgres, { ...PATIENT_DB, maxConnections: 1 });
      const token = 'token-that-no-log-may-hold';
      const lines = () => readFileSync(join(dataDir, 'logs/console.log'), 'utf8').split('\n');
      // A live page of an earlier test may still be refreshing: its failure is a line of its own.
      const failed = () =>
        lines().filter((line) => line.includes('a screen failed') && line.includes('/invite/'));
      try {
        await db.$executeRaw`ALTER TABLE invitation RENAME TO elsewhere`;
        expect((await fetch(`${site.url()}/invite/${token}`)).status).toBe(500);
        await eventually(async () => failed().length > 0);
        expect((await fetch(`${site.url()}/sign-in`)).status).toBe(200);
      } finally {
        await db.$executeRaw`ALTER TABLE elsewhere RENAME TO invitation`;
        await closeDb(db);
      }
      expect(failed()).toHaveLength(1);
      expect(JSON.parse(failed()[0] ?? '')).toMatchObject({ level: 'error', routePath: '/invite/[token]' });
      expect(lines().join()).not.toContain(token);
    });
  });
}
