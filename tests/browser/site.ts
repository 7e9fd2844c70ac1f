import { randomUUID } from 'node:crypto';
import { beforeAll } from '@jest/globals';
import type { StackOptions } from '@tidegate/local';
import type { BrowserContextOptions, Locator, Page } from 'playwright-core';
import { signIn, useBrowser, type Visitor } from '../support/browser.ts';
import { ctl, useStack } from '../support/stack.ts';

export const TEST_TIMEOUT_MS = 120_000;
export const SCREENS = ['keys', 'api', 'usage', 'try', 'plan', 'members', 'audit'];
export const PASSWORD = 'a-long-enough-password';

export interface Account {
  readonly email: string;
  readonly password: string;
}
export type Role = 'owner' | 'member' | 'viewer';

type SignedInState = NonNullable<BrowserContextOptions['storageState']>;

/** The console of a stack of its own, and people who use it. Call what it holds once tests run. */
export function useSite(options?: StackOptions) {
  const stack = useStack(options);
  const visit = useBrowser();
  const sessions = new Map<string, SignedInState>();
  let url = '';
  let owner: Account;
  beforeAll(() => {
    const { info } = stack();
    if (!info.console || !info.owner) throw new Error('the stack has no console');
    url = info.console;
    owner = info.owner;
  });
  /** In a browser of his own; the owner of the demo organization unless said otherwise. Sessions are kept from test to test. */
  const signedIn = async (
    account: Account = owner,
    context: BrowserContextOptions = {},
  ): Promise<Visitor> => {
    const storageState = sessions.get(account.email);
    if (storageState) return visit({ ...context, storageState });
    const visitor = await visit(context);
    await signIn(visitor.page, url, account);
    sessions.set(account.email, await visitor.page.context().storageState());
    return visitor;
  };
  /** Someone new with a role. */
  const person = async (role: Role, org = 'demo'): Promise<Account> => {
    const account = { email: `${role}-${randomUUID()}@example.com`, password: PASSWORD };
    const settings = ['--email', account.email, '--role', role, '--password', PASSWORD];
    await ctl(stack(), 'member', 'add', '--org', org, ...settings);
    return account;
  };
  /** A new organization's slug. */
  const organization = async (name: string, plan = 'Pro'): Promise<string> =>
    (await ctl<{ slug: string }>(stack(), 'org', 'create', '--name', name, '--plan', plan)).slug;
  return {
    stack,
    visit,
    signedIn,
    person,
    organization,
    url: () => url,
    owner: () => owner,
    ctl: <T>(...args: string[]) => ctl<T>(stack(), ...args),
    open: (page: Page, screen: string, org = 'demo') => page.goto(`${url}/o/${org}/${screen}`),
    ask: (key: string, request: Asked = {}) => ask(stack().info.gateway, key, request),
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
  /** Tokens the API told, 0 when it told none. */
  readonly tokens: { readonly in: number; readonly out: number };
}

/** A request to the gateway, read to its end. */
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

/** Answers the dialog that asks before something is done, and waits for it to be done. */
export async function confirm(page: Page, answer: string): Promise<void> {
  await page.getByRole('button', { name: answer, exact: true }).click();
  await page.locator('section[role=alertdialog]').waitFor({ state: 'detached' });
}

export const textOf = async (at: Locator): Promise<string> => (await at.textContent()) ?? '';
export const rowOf = (page: Page, text: string) => page.getByRole('row').filter({ hasText: text });
/** Has a live page refresh now, as when one looks at it again. */
export const lookAgain = (page: Page) =>
  page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
