import { beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@tidegate/testing';
import type { Locator, Page } from 'playwright-core';
import { expectAccessible, signIn, useBrowser, type Visitor } from '../support/browser.ts';
import { ctl, useStack } from '../support/stack.ts';

const TEST_TIMEOUT_MS = 180_000;
const SCREENS = ['keys', 'api', 'usage', 'try', 'plan', 'members', 'audit'];
const PASSWORD = 'a-long-enough-password';

const stack = useStack();
const visit = useBrowser();
let site: string;
let owner: { email: string; password: string };
let gateway: string;

beforeAll(() => {
  const { info } = stack();
  if (!info.console || !info.owner) throw new Error('the stack has no console');
  site = info.console;
  owner = info.owner;
  gateway = info.gateway;
});

async function signedIn(account = owner): Promise<Visitor> {
  const visitor = await visit();
  await signIn(visitor.page, site, account);
  return visitor;
}

/** Someone with a role in the demo organization. */
async function personWith(role: 'owner' | 'member' | 'viewer'): Promise<{ email: string; password: string }> {
  const email = `${role}-${Math.random().toString(36).slice(2)}@example.com`;
  await ctl(
    stack(),
    'member',
    'add',
    '--org',
    'demo',
    '--email',
    email,
    '--role',
    role,
    '--password',
    PASSWORD,
  );
  return { email, password: PASSWORD };
}

const open = (page: Page, screen: string, org = 'demo') => page.goto(`${site}/o/${org}/${screen}`);

async function ask(key: string, model = 'demo-text'): Promise<{ status: number; code: string | undefined }> {
  const response = await fetch(`${gateway}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello!' }] }),
  });
  const body = (await response.json()) as { error?: { code: string } };
  return { status: response.status, code: body.error?.code };
}

async function createKey(page: Page, name: string): Promise<string> {
  await open(page, 'keys');
  await page.getByRole('button', { name: 'Create key' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill(name);
  await dialog.getByRole('button', { name: 'Create key' }).click();
  const value = await page.getByLabel('API key').inputValue();
  await page.getByRole('button', { name: 'I have copied the key' }).click();
  return value;
}

/** Answers the dialog that asks before something is done, and waits for it to be done. */
async function confirm(page: Page, answer: string): Promise<void> {
  await page.getByRole('button', { name: answer, exact: true }).click();
  await page.locator('section[role=alertdialog]').waitFor({ state: 'detached' });
}

const textOf = async (at: Locator): Promise<string> => (await at.textContent()) ?? '';
const rowOf = (page: Page, text: string) => page.getByRole('row').filter({ hasText: text });

describe('an owner', () => {
  it(
    'creates a key, sees its value once, and watches it being used, revoked and deleted',
    async () => {
      const { page, errors } = await signedIn();
      const key = await createKey(page, 'Journey');
      expect(key).toMatch(/^ti_/);
      const row = rowOf(page, 'Journey');
      await row.waitFor();
      const text = await textOf(row);
      for (const part of [key.slice(0, 9), 'Active', 'All models', '60/min · 4 at once', 'Never'])
        expect(text).toContain(part);
      expect(await page.content()).not.toContain(key);

      expect(await ask(key)).toEqual({ status: 200, code: undefined });
      await eventually(async () => /UTC/.test(await textOf(row)), { timeoutMs: 60_000 });

      await row.getByRole('button', { name: 'Revoke Journey' }).click();
      await page.getByRole('alertdialog').getByText('refused from the next one on').waitFor();
      await confirm(page, 'Revoke key');
      expect(await ask(key)).toEqual({ status: 401, code: 'invalid_api_key' });
      await eventually(async () => (await textOf(row)).includes('Revoked'));

      await row.getByRole('button', { name: 'Delete Journey' }).click();
      await confirm(page, 'Delete key');
      await row.waitFor({ state: 'detached' });
      await open(page, 'usage');
      await page.getByRole('cell', { name: 'A deleted key' }).first().waitFor();
      expect(errors).toEqual([]);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'is told inline which setting of a key is wrong, and what is allowed',
    async () => {
      const { page } = await signedIn();
      await open(page, 'keys');
      await page.getByRole('button', { name: 'Create key' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('button', { name: 'Create key' }).click();
      await dialog.getByText('Name must be text of 1 to 80 characters').waitFor();
      await dialog.getByLabel('Name').fill('x');
      await dialog.getByLabel('Requests per minute').fill('6001');
      await dialog.getByRole('button', { name: 'Create key' }).click();
      await dialog.getByText('from 1 to 6,000').waitFor();
      await expectAccessible(page);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'stops and starts a model, and sees its condition change by itself',
    async () => {
      const { page } = await signedIn();
      const apiKey = stack().info.apiKey ?? '';
      await open(page, 'api');
      const row = rowOf(page, 'demo-text');
      await row.getByRole('button', { name: 'Stop demo-text' }).click();
      await confirm(page, 'Stop model');
      await row.getByText('Stopped').waitFor();
      expect(await ask(apiKey)).toEqual({ status: 503, code: 'model_unavailable' });
      await row.getByRole('button', { name: 'Start demo-text' }).click();
      await row.getByText('Running').waitFor();
      await eventually(async () => (await ask(apiKey)).status === 200);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'sees how many requests each model has in flight, as they come and go',
    async () => {
      const { page } = await signedIn();
      await open(page, 'api');
      const inFlightOf = (model: string) => rowOf(page, model).getByRole('cell').nth(2);
      const shows = (model: string, count: number) =>
        inFlightOf(model)
          .filter({ hasText: new RegExp(`^${count}$`) })
          .waitFor();
      await page.getByRole('columnheader').nth(2).filter({ hasText: 'In flight' }).waitFor();
      await shows('demo-text', 0);
      const leaving = new AbortController();
      const endless = { model: 'demo-text', messages: [{ role: 'user', content: '[[delay-ms=3600000]]' }] };
      const asking = [1, 2].map(() =>
        fetch(`${gateway}/chat/completions`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${stack().info.apiKey}`,
            'content-type': 'application/json',
          },
          body: JSON.stringify(endless),
          signal: leaving.signal,
        }),
      );
      try {
        await shows('demo-text', 2);
        await shows('demo-vision', 0);
      } finally {
        leaving.abort();
        await Promise.allSettled(asking);
      }
      await shows('demo-text', 0);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'publishes a model that runs elsewhere, and deletes it',
    async () => {
      const { page } = await signedIn();
      await open(page, 'api');
      await page.getByRole('button', { name: 'Publish model' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Name', { exact: true }).fill('elsewhere');
      await dialog.getByLabel('Servers', { exact: true }).fill('not a url');
      await dialog.getByRole('button', { name: 'Publish model' }).click();
      await dialog.getByText('different http or https addresses').waitFor();
      await dialog.getByLabel('Servers', { exact: true }).fill('http://127.0.0.1:9/v1');
      await dialog.getByRole('button', { name: 'Publish model' }).click();
      const row = rowOf(page, 'elsewhere');
      await row.waitFor();
      await row.getByRole('button', { name: 'Delete elsewhere' }).click();
      await confirm(page, 'Delete model');
      await row.waitFor({ state: 'detached' });
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'changes the plan, in force at the next request, and sees it in the audit',
    async () => {
      const { page } = await signedIn();
      const apiKey = stack().info.apiKey ?? '';
      const image =
        'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
      const askWithImage = async () => {
        const content = [{ type: 'image_url', image_url: { url: image } }];
        const response = await fetch(`${gateway}/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model: 'demo-vision', messages: [{ role: 'user', content }] }),
        });
        return response.status;
      };
      const changeTo = async (plan: string) => {
        await open(page, 'plan');
        await page.getByRole('button', { name: `Change to ${plan}` }).click();
        await confirm(page, 'Change plan');
      };
      await changeTo('Starter');
      expect(await askWithImage()).toBe(403);
      await changeTo('Pro');
      expect(await askWithImage()).toBe(200);
      await open(page, 'audit');
      await rowOf(page, 'Changed the plan Starter').waitFor();
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'changes the password, which ends the other sessions, and signs out everywhere',
    async () => {
      const account = await personWith('owner');
      const [here, there] = [await signedIn(account), await signedIn(account)];
      await here.page.goto(`${site}/account`);
      await here.page.getByLabel('Current password').fill('not the password');
      await here.page.getByLabel('New password').fill('another-long-password');
      await here.page.getByRole('button', { name: 'Change password' }).click();
      await here.page.getByText('This is not your current password.').waitFor();
      await here.page.getByLabel('Current password').fill(account.password);
      await here.page.getByRole('button', { name: 'Change password' }).click();
      await here.page.getByText('The password is changed.').waitFor();
      await open(there.page, 'keys');
      expect(new URL(there.page.url()).pathname).toBe('/sign-in');
      await signIn(there.page, site, { ...account, password: 'another-long-password' });
      await there.page.goto(`${site}/account`);
      await there.page.getByRole('button', { name: 'Sign out everywhere' }).click();
      await there.page.waitForURL('**/sign-in');
      await open(here.page, 'keys');
      expect(new URL(here.page.url()).pathname).toBe('/sign-in');
    },
    TEST_TIMEOUT_MS,
  );
});

describe('an invitation', () => {
  it.each(['member', 'viewer'] as const)(
    'makes a %s of who opens its link, once',
    async (role) => {
      const { page } = await signedIn();
      const email = `invited-${role}@example.com`;
      await open(page, 'members');
      await page.getByRole('button', { name: 'Invite', exact: true }).click();
      await page.getByLabel('E-mail').fill(email);
      if (role !== 'member') {
        await page.getByRole('dialog').getByRole('button', { name: /Role/ }).click();
        await page.getByRole('option', { name: /Viewer/ }).click();
      }
      await page.getByRole('button', { name: 'Make the link' }).click();
      const link = await page.getByLabel('Invitation link').inputValue();

      const guest = await visit();
      await guest.page.goto(link);
      await expectAccessible(guest.page);
      await guest.page.getByLabel('Your name').fill('Ada');
      await guest.page.getByLabel('Password').fill(PASSWORD);
      await guest.page.getByRole('button', { name: 'Join' }).click();
      await guest.page.waitForURL('**/o/demo/keys');
      await open(guest.page, 'members');
      expect(await textOf(rowOf(guest.page, email))).toContain(role);
      const late = await visit();
      await late.page.goto(link);
      await late.page.getByText('has been used, was withdrawn or has expired').waitFor();
    },
    TEST_TIMEOUT_MS,
  );
});

describe('a member', () => {
  it(
    'looks and tries models through the gateway, and changes nothing',
    async () => {
      const { page } = await signedIn(await personWith('member'));
      for (const [screen, button] of [
        ['keys', 'Create key'],
        ['api', 'Publish model'],
        ['members', 'Invite'],
      ] as const) {
        await open(page, screen);
        await page.getByRole('heading', { level: 1 }).waitFor();
        expect(await page.getByRole('button', { name: button }).count()).toBe(0);
        expect(await page.getByRole('button', { name: /^(Revoke|Delete|Stop|Remove) / }).count()).toBe(0);
      }
      await open(page, 'try');
      await page.getByLabel('API key').fill('ti_wrong');
      await page.getByLabel('Message', { exact: true }).fill('Say hello');
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByRole('alert').getByText('invalid_api_key').first().waitFor();
      expect(await page.getByLabel('Message', { exact: true }).inputValue()).toBe('Say hello');
      await page.getByLabel('API key').fill(stack().info.apiKey ?? '');
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByText(/tokens in · .* tokens out/).waitFor();
      expect(await textOf(page.getByRole('log'))).toContain('Model: ');
      await expectAccessible(page);
    },
    TEST_TIMEOUT_MS,
  );
});

describe('a viewer', () => {
  it(
    'sees keys and usage, and has no way to try a model',
    async () => {
      const { page } = await signedIn(await personWith('viewer'));
      await open(page, 'keys');
      await rowOf(page, 'Local stack').waitFor();
      expect(await page.getByRole('link', { name: 'Try it' }).count()).toBe(0);
      await open(page, 'try');
      await page.getByText('There is nothing here').waitFor();
      const status = await page.evaluate(
        async () => (await fetch('/o/demo/try/chat', { method: 'POST', body: '{}' })).status,
      );
      expect(status).toBe(403);
    },
    TEST_TIMEOUT_MS,
  );
});

describe('a stranger', () => {
  it(
    'meets pages that do not exist, signed in elsewhere or not at all',
    async () => {
      const { slug } = await ctl<{ slug: string }>(stack(), 'org', 'create', '--name', 'Elsewhere');
      const account = { email: 'stranger@example.com', password: PASSWORD };
      const role = ['--role', 'owner', '--password', account.password];
      await ctl(stack(), 'member', 'add', '--org', slug, '--email', account.email, ...role);
      const { page } = await signedIn(account);
      expect((await page.request.get(`${site}/o/demo/usage/csv`)).status()).toBe(404);
      for (const screen of SCREENS)
        expect({ screen, status: (await open(page, screen))?.status() }).toEqual({ screen, status: 404 });
      const nobody = await visit();
      for (const screen of SCREENS) {
        await open(nobody.page, screen);
        expect(new URL(nobody.page.url()).pathname).toBe('/sign-in');
      }
      expect((await fetch(`${site}/o/demo/usage/csv`)).status).toBe(401);
    },
    TEST_TIMEOUT_MS,
  );
});

describe('every page', () => {
  it.each([
    { colorScheme: 'light', width: 1280 },
    { colorScheme: 'dark', width: 1280 },
    { colorScheme: 'light', width: 390 },
    { colorScheme: 'dark', width: 390 },
  ] as const)(
    'is accessible, fits and reports no error ($colorScheme, $width wide)',
    async ({ colorScheme, width }) => {
      const { page, errors } = await visit({ colorScheme, viewport: { width, height: 844 } });
      await page.goto(`${site}/sign-in`);
      await expectAccessible(page);
      await signIn(page, site, owner);
      for (const path of [...SCREENS.map((screen) => `/o/demo/${screen}`), '/account']) {
        await page.goto(`${site}${path}`);
        await page.getByRole('heading', { level: 1 }).waitFor();
        await expectAccessible(page);
        const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
        expect({ path, overflow: Math.max(0, Number(overflow)) }).toEqual({ path, overflow: 0 });
      }
      expect(errors).toEqual([]);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'runs only scripts with its nonce, and keeps its session from scripts and other sites',
    async () => {
      const { page } = await signedIn();
      const response = await open(page, 'keys');
      const policy = response?.headers()['content-security-policy'] ?? '';
      expect(policy).toMatch(/script-src 'self' 'nonce-[\w+/=]+' 'strict-dynamic'/);
      expect(policy).not.toContain('unsafe-eval');
      expect(policy).toContain("frame-ancestors 'none'");
      const again = await open(page, 'keys');
      expect(again?.headers()['content-security-policy']).not.toBe(policy);
      const session = (await page.context().cookies()).find(({ name }) => name.includes('session_token'));
      expect(session).toMatchObject({ httpOnly: true, sameSite: 'Lax' });
      const chat = await page.request.post(`${site}/o/demo/try/chat`, {
        headers: { origin: 'https://elsewhere.example' },
        data: {},
      });
      expect(chat.status()).toBe(403);
    },
    TEST_TIMEOUT_MS,
  );
});
