import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect } from '@jest/globals';
import { eventually } from '@tidegate/testing';
import type axe from 'axe-core';
import type { Page } from 'playwright-core';
import { outOfReach } from './out-of-reach.mjs';

/**
 * Expects that nothing has moved by itself since the page was loaded: its cumulative layout shift
 * is 0. With `pressed`, nothing has moved after input either. Without `dialogs`, what has moved
 * only within a dialog does not count: a dialog grows by the answers that it waits for, however
 * late they are.
 */
export async function expectStill(page: Page, { pressed = false, dialogs = true } = {}): Promise<void> {
  await page.evaluate(
    'document.fonts.ready.then(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))))',
  );
  const shifts = await page.evaluate(
    `shifts.filter((shift) => (${pressed} || !shift.pressed) && (${dialogs} || !shift.inDialog))`,
  );
  expect({ url: page.url(), shifts }).toEqual({ url: page.url(), shifts: [] });
}

export async function signIn(
  page: Page,
  site: string,
  { email, password }: { email: string; password: string },
): Promise<void> {
  await page.goto(`${site}/sign-in`);
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.waitForURL((url) => url.pathname !== '/sign-in');
}

/** A transition of an inherited value begins others in the elements that inherit it. */
const MAX_TRANSITIONS_IN_A_ROW = 20;
const SETTLED = `(async () => {
  const frame = () => new Promise(requestAnimationFrame);
  await frame();
  for (let i = 0; i < ${MAX_TRANSITIONS_IN_A_ROW}; i++) {
    await frame();
    const running = document.getAnimations().filter((a) => a instanceof CSSTransition);
    if (running.length === 0) return;
    await Promise.allSettled(running.map((a) => a.finished));
  }
})()`;

/**
 * Expects the page to be accessible in light and dark mode. Only contrasts differ between the two.
 * Leaves the page in light mode.
 */
export async function expectAccessibleInBoth(page: Page): Promise<void> {
  await expectAccessible(page);
  await switchTo(page, 'dark');
  await expectAccessible(page, ['color-contrast']);
  await switchTo(page, 'light');
}

/** A busy page hears of the system's new scheme after some frames. Colours change after that. */
async function switchTo(page: Page, colorScheme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme });
  await page.locator(`html[data-theme=${colorScheme}]`).waitFor();
  await page.evaluate(SETTLED);
}

/** Half the size of the source that the package exports. It has to be sent to every page. */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** Expects axe to find no violation of WCAG 2.2 AA or of best practice, or of the given rules. */
export async function expectAccessible(page: Page, rules: readonly string[] = RULES): Promise<void> {
  // The title of a page streams in after its first markup, and again when the page refreshes
  // itself. So it is awaited here, and axe, which looks once, does not look for it.
  await eventually(async () => (await page.title()) !== '');
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(AXE);
  const found = await page.evaluate(
    async (runOnly) => {
      const run = (globalThis as unknown as { axe: typeof axe }).axe.run;
      // The component library's announcements for screen readers are beyond the page's control, and
      // disappear within seconds.
      const area = { exclude: [['[data-live-announcer]']] };
      const { violations } = await run(area, {
        runOnly,
        resultTypes: ['violations'],
        rules: { 'document-title': { enabled: false } },
      });
      return violations.map(({ id, help, nodes }) => ({
        id,
        help,
        at: nodes.map(({ target, failureSummary }) => `${target.join(' ')}: ${failureSummary}`),
      }));
    },
    [...rules],
  );
  expect({ url: page.url(), found }).toEqual({ url: page.url(), found: [] });
}

/**
 * Expects that every action within `area` is fully visible and can be clicked without scrolling
 * sideways. No edge cuts it off, nothing covers it, and the page is no wider than the screen.
 */
export async function expectInReach(page: Page, area = 'body'): Promise<void> {
  await page.evaluate(SETTLED);
  const found = await outOfReach(page, area);
  const width = page.viewportSize()?.width;
  expect({ url: page.url(), width, found }).toEqual({ url: page.url(), width, found: [] });
}

/** The page is accessible in light and dark, still, and has each action in reach at any width. */
export async function expectSound(page: Page): Promise<void> {
  await expectAccessibleInBoth(page);
  await expectStill(page);
  for (const width of [390, 1280]) {
    await page.setViewportSize({ width, height: 900 });
    await expectInReach(page);
  }
}
