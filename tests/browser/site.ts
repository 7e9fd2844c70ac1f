import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import type { Control, CreateKeyInput, Role } from '@tidegate/control';
import { closeDb, createDb } from '@tidegate/db';
import type { StackOptions } from '@tidegate/local';
import { eventually, freePort, PATIENT_DB } from '@tidegate/testing';
import type { Locator, Page, Request } from 'playwright-core';
import { signInByForm } from '../support/console.ts';
import { must, OPERATOR, type OpenControl, openControl } from '../support/control.ts';
import { useStack } from '../support/stack.ts';
import { useBrowser, type VisitOptions, type Visitor } from '../support/visitors.ts';

export const TEST_TIMEOUT_MS = 900_000;
export const PASSWORD = 'a-long-enough-password';
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Longer than a test that counts by days takes. */
const ROOM_MS = 240_000;
/**
 * On a busy machine, slow is not wrong. But some tests stop the limiter and wait until the console
 * gives up.
 */
const PATIENT = { LIVE_COUNTS_TIMEOUT_MS: '60000', CHANGE_TIMEOUT_MS: '10000' };

export interface Account {
  readonly email: string;
  readonly password: string;
}

export interface SiteOptions extends StackOptions {
  /** Browsers find the console at `localhost`. They create passkeys only for names. */
  readonly named?: boolean;
}

/** The ports of a console at `localhost`, and its variables: it must know its port. */
async function atLocalhost() {
  const [gateway, port] = [await freePort(), await freePort()];
  return { ports: { gateway, console: port }, own: { CONSOLE_URL: `http://localhost:${port}` } };
}

/**
 * Starts a stack with a console, for users in browsers. Call the returned functions only in tests
 * and hooks.
 */
export function useSite({ named = false, ...options }: SiteOptions = {}) {
  let opened: OpenControl | undefined;
  // Hooks after all tests run in this order, so the database is closed before it is dropped.
  afterAll(() => opened?.close());
  const stack = useStack(async () => {
    const { own, ...ports } = named ? await atLocalhost() : { own: {} };
    const env = { ...options.env, console: { ...PATIENT, ...options.env?.console, ...own } };
    return { console: true, ...options, ...ports, env };
  });
  let url = '';
  const visit = useBrowser(() => `${url}/icon.svg`);
  let owner: Account;
  beforeAll(() => {
    const { info } = stack();
    if (!info.console || !info.owner) throw new Error('the stack has no console');
    url = named ? info.console.replace('127.0.0.1', 'localhost') : info.console;
    owner = info.owner;
    opened = openControl(stack());
  });
  // All visitors have one address, which may try to sign in 20 times a minute.
  const forgetAttempts = async (): Promise<void> => {
    await opened?.db.signInAttempt.deleteMany();
  };
  beforeEach(forgetAttempts);
  const control = (): Control => {
    if (!opened) throw new Error('the stack has not been started');
    return opened.control;
  };
  const cookiesOf = useSessions(() => url);
  /** Opens a browser context, signed in. Default: the owner of the demo organization. */
  const signedIn = async (account: Account = owner, options?: VisitOptions): Promise<Visitor> => {
    const visitor = await visit(options);
    await visitor.page.context().addCookies(await cookiesOf(account));
    return visitor;
  };
  /** Creates an account with a role. */
  const person = async (role: Role, org = 'demo'): Promise<Account> => {
    const account = { email: `${role}-${randomUUID()}@example.com`, password: PASSWORD };
    must(await control().addMember(OPERATOR, { org, role, ...account }));
    return account;
  };
  /** Creates an organization and returns its slug. */
  const organization = async (name: string, plan = 'Pro'): Promise<string> =>
    must(await control().createOrg(OPERATOR, { name, plan })).slug;
  return {
    stack,
    control,
    /** For a test that signs in often. */
    forgetAttempts,
    /** For a test that uses up the attempts, however slowly. */
    keepAttempts: async (): Promise<void> => {
      await opened?.db.signInAttempt.updateMany({ data: { resetsAt: new Date(Date.now() + HOUR_MS) } });
    },
    /** Locks a table while `work` runs, so that the console has to wait for it. */
    whileLocked: (table: string, work: () => Promise<void>) =>
      whileLocked(stack().info.postgres, table, work),
    visit,
    signedIn,
    person,
    organization,
    /** What happened to an account of one organization, oldest first: action and way of sign-in. */
    trailOf: async ({ email }: Account, org = 'demo') =>
      must(await control().listAudit(OPERATOR, { org, action: 'account' }))
        .events.filter(({ details }) => details.email === email)
        .map(({ action, details }) => [action, ...('with' in details ? [details.with] : [])].join(' '))
        .reverse(),
    /** Makes the key of a page that the owner has open, in a session of its own. */
    pageKey: async ({ email }: Account, org: string): Promise<void> => {
      const user = await opened?.db.user.findUniqueOrThrow({ where: { email } });
      if (!opened || !user) throw new Error('the stack has not been started');
      // With dashes, the console would not take it for the id of a session.
      const id = randomUUID().replaceAll('-', '');
      const expiresAt = new Date(Date.now() + HOUR_MS);
      await opened.db.session.create({ data: { id, token: id, userId: user.id, expiresAt } });
      const actor = { kind: 'user', userId: user.id, email } as const;
      must(await opened.control.createPageKey(actor, { org, session: id }));
    },
    newKey: async (name: string, settings: Omit<CreateKeyInput, 'name'> = { org: 'demo' }) =>
      must(await control().createKey(OPERATOR, { name, ...settings })),
    url: () => url,
    owner: () => owner,
    open: (page: Page, screen: string, org = 'demo') => page.goto(`${url}/o/${org}/${screen}`),
    ask: (key: string, request: Asked = {}) => ask(stack().info.gateway, key, request),
  };
}
export type Site = ReturnType<typeof useSite>;

async function whileLocked(postgres: string, table: string, work: () => Promise<void>): Promise<void> {
  const db = createDb(postgres, { ...PATIENT_DB, maxConnections: 1 });
  try {
    await db.$transaction(
      async (holder) => {
        await holder.$executeRawUnsafe(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
        await work();
      },
      { timeout: TEST_TIMEOUT_MS },
    );
  } finally {
    await closeDb(db);
  }
}

/** Signs each account in once, and keeps its cookies for all tests. */
function useSessions(url: () => string) {
  const sessions = new Map<string, { name: string; value: string; url: string }[]>();
  return async (account: Account) => {
    const known = sessions.get(account.email);
    if (known) return known;
    const header = await signInByForm(url(), account);
    if (header === null) throw new Error("the console does not let the test's account in");
    const cookies = header.split('; ').map((cookie) => {
      const [name = '', ...value] = cookie.split('=');
      return { name, value: value.join('='), url: url() };
    });
    sessions.set(account.email, cookies);
    return cookies;
  };
}

export interface Asked {
  readonly model?: string;
  readonly content?: string;
  readonly [field: string]: unknown;
}

export interface Answer {
  readonly status: number;
  readonly code: string | undefined;
  /** The tokens that the API reported. 0: none. */
  readonly tokens: { readonly in: number; readonly out: number };
}

/** Sends a request to the gateway and reads the answer to its end. */
async function ask(
  gateway: string,
  key: string,
  { model = 'demo-text', content = 'Hello!', ...more }: Asked,
): Promise<Answer> {
  const response = await fetch(`${gateway}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content }], ...more }),
  });
  const text = await response.text().catch(() => '');
  const told = /"prompt_tokens":(\d+),"completion_tokens":(\d+)/.exec(text);
  return {
    status: response.status,
    code: /"code":"(\w+)"/.exec(text)?.[1],
    tokens: { in: Number(told?.[1] ?? 0), out: Number(told?.[2] ?? 0) },
  };
}

/** Creates a key on the screen and returns its value. */
export async function createKey(page: Page, name: string): Promise<string> {
  await page.getByRole('button', { name: 'Create key' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill(name);
  await dialog.getByRole('button', { name: 'Create key' }).click();
  const value = await page.getByLabel('API key').inputValue();
  await page.getByRole('button', { name: 'I have copied the key' }).click();
  return value;
}

/** Answers the confirmation dialog and waits until the action is done. */
export async function confirm(page: Page, answer: string): Promise<void> {
  await page.getByRole('button', { name: answer, exact: true }).click();
  await page.locator('section[role=alertdialog]').waitFor({ state: 'detached' });
}

/** Presses a button that copies, and waits for the text that it then shows for two seconds. */
export async function pressCopy(button: Locator, says: string): Promise<void> {
  // The page itself watches: the text may be gone before a poll from outside sees it.
  const watched = await button.evaluateHandle((element) => {
    const texts: string[] = [];
    const { MutationObserver } = element.ownerDocument.defaultView;
    const anything = { subtree: true, childList: true, characterData: true };
    new MutationObserver(() => texts.push(element.innerText.trim())).observe(element, anything);
    return texts;
  });
  await button.click();
  await eventually(async () => (await watched.jsonValue()).includes(says));
}

/** Waits for a toast. It may have gone by itself already. */
export async function told(page: Page, text: string | RegExp): Promise<void> {
  const isIt = (toast: string) => (typeof text === 'string' ? toast.includes(text) : text.test(toast));
  await eventually(async () => (await toastsOn(page)).some(isIt));
}

/** The texts of all toasts since the page was loaded. */
export const toastsOn = (page: Page): Promise<string[]> => page.evaluate('toasts');

/** For a test that counts by days: if this one (UTC) ends soon, waits for the next. */
export async function dayWithRoom(): Promise<void> {
  const leftMs = DAY_MS - (Date.now() % DAY_MS);
  if (leftMs < ROOM_MS) await sleep(leftMs);
}

export const textOf = async (at: Locator): Promise<string> => (await at.textContent()) ?? '';
/** The text of the focused element. */
export const focused = (page: Page): Promise<string> => page.evaluate('document.activeElement.textContent');
export const rowOf = (page: Page, text: string) => page.getByRole('row').filter({ hasText: text });
/** Whether the request prefetches what another page shows while it loads. */
export const isPrefetch = (request: Request) => request.headers()['next-router-prefetch'] !== undefined;
/** Makes a live page refresh now, as when it becomes visible again. */
export const lookAgain = (page: Page) =>
  page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
