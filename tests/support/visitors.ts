import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { findChromium } from '@tidegate/embedded';
import {
  type Browser,
  type BrowserContextOptions,
  chromium,
  type Page,
  type ViewportSize,
} from 'playwright-core';

/** Ample on a busy machine. It costs time only when something is wrong. */
const ACTION_TIMEOUT_MS = 120_000;
/** Something else on the machine added or removed a network interface, as Docker does. */
const NETWORK_CHANGED = 'net::ERR_NETWORK_CHANGED';
/** What a visitor's page looks like unless a test says otherwise. */
const LOOKS = {
  viewport: { width: 1280, height: 900 },
  colorScheme: 'light',
  reducedMotion: 'reduce',
} as const;
const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // No page lives long enough to repay the optimizing compilers.
  '--js-flags=--no-opt --no-maglev',
];

export interface VisitOptions {
  readonly viewport?: ViewportSize;
  readonly colorScheme?: 'light' | 'dark';
  /** Asks for a new browser context, with these options. */
  readonly context?: BrowserContextOptions;
}

export interface Visitor {
  readonly page: Page;
  /** The errors that the page reported, including violations of its content security policy. */
  readonly errors: readonly string[];
}

/**
 * Starts a headless Chromium for one file's tests. Call the result for a visitor with its own
 * cookies, for one test.
 *
 * Unless a test asks for a new browser context, the visitor may get that of a visitor whose test is
 * over. Nothing is left there but the cache, which halves the cost of the first page. Between
 * tests, such contexts wait in the lobby: the address of a page of the same site that has no
 * scripts.
 */
export function useBrowser(lobby: () => string): (options?: VisitOptions) => Promise<Visitor> {
  let browser: Browser | undefined;
  const waiting: Page[] = [];
  const visiting = new Set<Page>();
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: await findChromium(), args: ARGS });
  });
  afterAll(async () => {
    await browser?.close();
  });
  // Live pages would keep refreshing during the following tests.
  afterEach(async () => {
    const kept = new Set(waiting.map((page) => page.context()));
    for (const page of visiting) {
      if (!(await leave(page, lobby()))) continue;
      waiting.push(page);
      kept.add(page.context());
    }
    visiting.clear();
    const others = browser?.contexts().filter((context) => !kept.has(context)) ?? [];
    await Promise.all(others.map((context) => context.close()));
  });
  return async ({ context, ...looks } = {}) => {
    if (!browser) throw new Error('the browser has not been started');
    if (context) return watch(await enter(browser, { ...looks, ...context }));
    const page = waiting.pop() ?? (await enter(browser));
    visiting.add(page);
    await dress(page, looks);
    return watch(page);
  };
}

async function enter(browser: Browser, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ ...LOOKS, ...options });
  context.setDefaultTimeout(ACTION_TIMEOUT_MS);
  for (const script of [WATCH_SHIFTS, WATCH_TOASTS]) await context.addInitScript(script);
  return context.newPage();
}

/** Makes a page look as given, whatever it looked like before. */
async function dress(page: Page, looks: Omit<VisitOptions, 'context'>): Promise<void> {
  const { viewport, ...media } = { ...LOOKS, ...looks };
  await page.emulateMedia(media);
  await page.setViewportSize(viewport);
}

function watch(page: Page): Visitor {
  const errors: string[] = [];
  page.on('console', (message) => {
    const isOwn = !message.text().includes(NETWORK_CHANGED);
    if (message.type() === 'error' && isOwn) errors.push(message.text());
  });
  page.on('pageerror', (error) => errors.push(error.message));
  return { page, errors };
}

/** Takes a page to the lobby and forgets its visitor. Resolves to whether this was possible. */
async function leave(page: Page, lobby: string): Promise<boolean> {
  const context = page.context();
  try {
    for (const event of ['console', 'pageerror', 'request'] as const) page.removeAllListeners(event);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.goto(lobby);
    await Promise.all(context.pages().map((one) => one !== page && one.close()));
    await page.evaluate('localStorage.clear(); sessionStorage.clear()');
    await Promise.all([context.clearCookies(), context.clearPermissions(), page.mouse.move(0, 0)]);
    return true;
  } catch {
    return false;
  }
}

/**
 * Records what moves on a page, whether it moved within half a second of the visitor's input, and
 * whether all of it was in a dialog.
 */
const WATCH_SHIFTS = `globalThis.shifts = [];
new PerformanceObserver((list) => {
  for (const { value, hadRecentInput: pressed, sources } of list.getEntries()) {
    const moved = sources.map(({ node, previousRect: from, currentRect: to }) => ({
      what: node?.outerHTML?.slice(0, 160) ?? node?.parentElement?.outerHTML?.slice(0, 160) ?? '',
      from: [from.x, from.y, from.width, from.height].join(),
      to: [to.x, to.y, to.width, to.height].join(),
    }));
    const inDialog = sources.length > 0 && sources.every(({ node }) =>
      (node?.closest ? node : node?.parentElement)?.closest('[role=dialog]'));
    globalThis.shifts.push({ pressed, inDialog, value, moved });
  }
}).observe({ type: 'layout-shift', buffered: true })`;

/** Records the texts of all toasts, because those of success go away by themselves. */
const WATCH_TOASTS = `{
  globalThis.toasts = [];
  const known = new WeakSet();
  new MutationObserver(() => {
    for (const title of document.querySelectorAll('[data-slot=toast-title]')) {
      if (known.has(title)) continue;
      known.add(title);
      globalThis.toasts.push(title.innerText);
    }
  }).observe(document, { subtree: true, childList: true });
}`;
