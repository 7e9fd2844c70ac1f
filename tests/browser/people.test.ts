import { describe, expect, it } from '@jest/globals';
import { eventually } from '@tidegate/testing';
import type { Page } from 'playwright-core';
import { expectAccessible } from '../support/browser.ts';
import { must, OPERATOR } from '../support/control.ts';
import { SCREENS } from '../support/screens.ts';
import { describeAccount } from './account.ts';
import { describeForms } from './forms.ts';
import { describeLive } from './live.ts';
import { describeOddInput } from './odd-input.ts';
import { describePageKeys } from './page-keys.ts';
import { describePages } from './pages.ts';
import { describePasskeys } from './passkeys.ts';
import { useProvider } from './provider.ts';
import { PASSWORD, rowOf, TEST_TIMEOUT_MS, textOf, told, useSite } from './site.ts';

const IMAGE =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const provider = useProvider();
const site = useSite({ named: true, env: { console: provider.env } });
const demoKey = () => site.stack().info.apiKey ?? '';
/** How many requests are in flight at the models of the demo organization. */
const inFlight = async () =>
  must(await site.control().listModels(OPERATOR, { org: 'demo' })).reduce(
    (sum, model) => sum + (model.inFlight ?? Number.NaN),
    0,
  );

describe('an invitation', () => {
  it(
    'makes a member or a viewer of whoever opens its link, once',
    async () => {
      const { page } = await site.signedIn();
      await site.open(page, 'members');
      for (const role of ['member', 'viewer'] as const) {
        const email = `invited-${role}@example.com`;
        await page.getByRole('button', { name: 'Invite', exact: true }).click();
        await page.getByLabel('E-mail').fill(email);
        if (role !== 'member') {
          await page.getByRole('dialog').getByRole('button', { name: /Role/ }).click();
          await page.getByRole('option', { name: /Viewer/ }).click();
        }
        await page.getByRole('button', { name: 'Create link' }).click();
        const link = await page.getByLabel('Invitation link').inputValue();

        const guest = await site.visit();
        await guest.page.goto(link);
        if (role === 'member') await expectAccessible(guest.page);
        await guest.page.getByLabel('Your name').fill('Ada');
        await guest.page.getByLabel('Password').fill(PASSWORD);
        await guest.page.getByRole('button', { name: 'Join' }).click();
        await guest.page.waitForURL('**/o/demo/keys');
        await site.open(guest.page, 'members');
        expect(await textOf(rowOf(guest.page, email))).toContain(role);
        const late = await (await fetch(link)).text();
        expect(late).toContain('has been used, was withdrawn or has expired');
        await page.getByRole('dialog').getByRole('button', { name: 'Done' }).click();
        await page.getByRole('dialog').waitFor({ state: 'detached' });
      }
    },
    TEST_TIMEOUT_MS,
  );
});

describe('a member', () => {
  it(
    'looks, chats with models through the gateway with text and images, and changes nothing [service.owners-manage]',
    async () => {
      const { page } = await site.signedIn(await site.person('member'));
      for (const [screen, button] of [
        ['keys', 'Create key'],
        ['api', 'Publish model'],
        ['members', 'Invite'],
      ] as const) {
        await site.open(page, screen);
        await page.getByRole('heading', { level: 1 }).waitFor();
        expect(await page.getByRole('button', { name: button }).count()).toBe(0);
        expect(await page.getByRole('button', { name: /^(Revoke|Delete|Stop|Remove) / }).count()).toBe(0);
      }
      await site.open(page, 'try');
      await page.getByLabel('API key').fill('ti_wrong');
      await page.getByLabel('Message', { exact: true }).fill('Say hello');
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByRole('alert').getByText('invalid_api_key').first().waitFor();
      expect(await page.getByLabel('Message', { exact: true }).inputValue()).toBe('Say hello');
      // More wrong keys than the API accepts from one address.
      const wrong = await page.evaluate(() => {
        const headers = { authorization: 'Bearer ti_wrong' };
        const ask = () => fetch('/o/demo/try/chat', { method: 'POST', headers, body: '{}' });
        return Promise.all(Array.from({ length: 25 }, async () => (await ask()).status));
      });
      expect(new Set(wrong)).toEqual(new Set([401]));
      await page.getByLabel('API key').fill(demoKey());
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByText(/tokens in · .* tokens out · .* to the first token/).waitFor();
      const listed = page.getByRole('link', { name: 'This request in the list' });
      expect(await listed.getAttribute('href')).toMatch(/^\/o\/demo\/requests\?id=req_[\w-]{24}$/);
      const marked = '[[say=**Strong** and <b id=raw>raw</b>]]';
      await page.getByLabel('Message', { exact: true }).fill(marked);
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByRole('log').locator('strong', { hasText: 'Strong' }).waitFor();
      await page.getByRole('log').getByText('<b id=raw>raw</b>').last().waitFor();
      expect(await page.locator('#raw').count()).toBe(0);
      await page.getByLabel('Message', { exact: true }).fill('[[tokens=2]][[after=1]][[stall]]');
      await page.getByRole('button', { name: 'Send' }).click();
      await page.locator('[aria-busy=true]').getByText('Model: ').last().waitFor();
      await page.getByRole('button', { name: 'Stop' }).click();
      await page.getByText('Stopped.').waitFor();
      await page.getByRole('button', { name: 'New conversation' }).click();
      const stall = async () => {
        await page.getByLabel('Message', { exact: true }).fill('[[tokens=2]][[after=1]][[stall]]');
        await page.getByRole('button', { name: 'Send' }).click();
        await page.locator('[aria-busy=true]').getByText('Model: ').last().waitFor();
      };
      await stall();
      await page.getByRole('button', { name: 'New conversation' }).click();
      await page.getByRole('button', { name: 'Send' }).waitFor();
      expect(await textOf(page.getByRole('log'))).toBe('Paste a key, then send the model a message.');
      await stall();
      await eventually(async () => (await inFlight()) === 1);
      await page.getByRole('link', { name: 'Keys' }).click();
      await eventually(async () => (await inFlight()) === 0);
      await page.getByRole('link', { name: 'Try it' }).click();
      await page.getByLabel('API key').fill(demoKey());
      await page.getByRole('button', { name: 'demo-text Model' }).click();
      await page.getByRole('option', { name: /demo-vision/ }).click();
      const file = { name: 'dot.png', mimeType: 'image/png', buffer: Buffer.from(IMAGE, 'base64') };
      await page.locator('input[type=file]').setInputFiles([file, file]);
      const remove = page.getByRole('button', { name: 'Remove dot.png' });
      await remove.nth(1).click();
      expect(await remove.count()).toBe(1);
      for (const [kind, property] of [
        ['paste', 'clipboardData'],
        ['drop', 'dataTransfer'],
      ])
        await page.getByLabel('Message', { exact: true }).evaluate(
          (area, [type, name, base64]) => {
            const bytes = Uint8Array.from(atob(base64 ?? ''), (character) => character.charCodeAt(0));
            type Transfer = { items: { add(file: File): void } };
            const { DataTransfer } = globalThis as unknown as { DataTransfer: new () => Transfer };
            const data = new DataTransfer();
            data.items.add(new File([bytes], `${type}.png`, { type: 'image/png' }));
            const event = new Event(type ?? '', { bubbles: true, cancelable: true });
            Object.defineProperty(event, name ?? '', { value: data });
            area.dispatchEvent(event);
          },
          [kind, property, IMAGE],
        );
      for (const kind of ['paste', 'drop'])
        await page.getByRole('button', { name: `Remove ${kind}.png` }).waitFor();
      await page.getByLabel('Message', { exact: true }).fill('What is it?');
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByText(/tokens in · .* tokens out/).waitFor();
      await page.locator('input[type=file]').setInputFiles([file, file]);
      await told(page, 'A conversation has at most 4 images. The others were left out.');
      expect(await remove.count()).toBe(1);
      expect(await page.getByRole('button', { name: 'Add images, up to 4' }).isDisabled()).toBe(true);
      await page.getByLabel('Message', { exact: true }).fill('And this?');
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByText('This conversation has its 4 images.').waitFor();
      await page.getByText(/tokens in · .* tokens out/).waitFor();
      await page
        .getByLabel('Message', { exact: true })
        .fill('[[tokens=500]][[token-ms=30]][[after=499]][[stall]]');
      await page.getByRole('button', { name: 'Send' }).click();
      const log = page.getByRole('log');
      const grown = async (byPx: number) => {
        const before = await log.evaluate((element) => element.scrollHeight);
        await eventually(async () => (await log.evaluate((own) => own.scrollHeight)) > before + byPx);
        return log.evaluate((own) => [own.scrollTop, own.scrollHeight - own.clientHeight - own.scrollTop]);
      };
      await grown(40);
      await log.evaluate((element) => element.scrollTo({ top: 0 }));
      expect((await grown(40))[0]).toBe(0);
      await log.evaluate((element) => element.scrollTo({ top: element.scrollHeight }));
      expect((await grown(40))[1]).toBeLessThan(100);
      await page.getByRole('button', { name: 'Stop' }).click();
      await page.getByText('Stopped.').waitFor();
      await page.getByRole('button', { name: 'The same as code' }).click();
      const command = await textOf(page.locator('pre').filter({ hasText: 'curl -N' }));
      for (const part of ['"image_url"', 'What is it?', '$TIDEGATE_API_KEY']) expect(command).toContain(part);
      expect(await page.evaluate('JSON.stringify([localStorage, sessionStorage])')).not.toContain('ti_');
      expect(await textOf(page.getByRole('log'))).toContain('Model: ');
      await expectAccessible(page);
    },
    TEST_TIMEOUT_MS,
  );
});

describe('a viewer', () => {
  it(
    'sees keys and usage, and has no way to try a model [service.everyone-sees]',
    async () => {
      const { page } = await site.signedIn(await site.person('viewer'));
      await site.open(page, 'keys');
      await rowOf(page, 'Local stack').waitFor();
      expect(await page.getByRole('link', { name: 'Try it' }).count()).toBe(0);
      expect((await site.open(page, 'try'))?.status()).toBe(403);
      await page.getByRole('heading', { name: 'Your role cannot open this screen' }).waitFor();
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
    'meets only pages that do not exist, whether signed in elsewhere or not at all',
    async () => {
      const { page } = await site.signedIn(await site.person('owner', await site.organization('Elsewhere')));
      expect((await page.request.get(`${site.url()}/o/demo/usage/csv`)).status()).toBe(404);
      expect((await site.open(page, 'keys'))?.status()).toBe(404);
      await page.getByText('There is nothing here').waitFor();
      const nobody = await site.visit();
      await site.open(nobody.page, 'keys');
      expect(new URL(nobody.page.url()).pathname).toBe('/sign-in');
      for (const screen of SCREENS) {
        const url = `${site.url()}/o/demo/${screen}`;
        const strange = await page.request.get(url);
        const unknown = await nobody.page.request.get(url);
        const found = { screen, status: strange.status(), to: new URL(unknown.url()).pathname };
        expect(found).toEqual({ screen, status: 404, to: '/sign-in' });
      }
      expect((await fetch(`${site.url()}/o/demo/usage/csv`)).status).toBe(401);
    },
    TEST_TIMEOUT_MS,
  );
});

describe('a session', () => {
  it(
    'acts from the console’s own pages alone, and only as its role allows, however a request is made',
    async () => {
      const { page } = await site.signedIn();
      await site.open(page, 'members');
      await page.getByRole('button', { name: 'Invite', exact: true }).click();
      await page.getByLabel('E-mail').fill('someone@example.com');
      const sent = page.waitForRequest((request) => 'next-action' in request.headers());
      await page.getByRole('button', { name: 'Create link' }).click();
      await page.getByLabel('Invitation link').waitFor();
      const made = await sent;
      const action = made.headers();
      const replay = async (email: string, as: Page, headers: Record<string, string>) => {
        const answer = await as.request.post(made.url(), {
          headers: {
            'next-action': action['next-action'] ?? '',
            accept: 'text/x-component',
            'content-type': action['content-type'] ?? '',
            origin: site.url(),
            ...headers,
          },
          data: (made.postData() ?? '').replace('someone@example.com', email),
        });
        return answer.status();
      };
      const viewer = await site.signedIn(await site.person('viewer'));
      const member = await site.signedIn(await site.person('member'));
      const stranger = await site.signedIn(await site.person('owner', await site.organization('Afar')));
      const nobody = await site.visit();
      expect(await replay('from-elsewhere@example.com', page, { origin: 'https://elsewhere.example' })).toBe(
        403,
      );
      expect(await replay('from-nowhere@example.com', page, { origin: 'null' })).toBe(403);
      for (const [name, visitor] of Object.entries({ viewer, member, stranger, nobody }))
        await replay(`from-${name}@example.com`, visitor.page, {});
      expect(await replay('from-here@example.com', page, {})).toBe(200);
      await site.open(page, 'members');
      await rowOf(page, 'from-here@example.com').waitFor();
      const invited = await page.getByRole('table').last().getByRole('row').allTextContents();
      expect(invited.filter((row) => row.includes('from-'))).toHaveLength(1);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'begins even before any script has loaded, where the user wanted to go, behind a strict policy, and no script can read its cookie',
    async () => {
      const { page } = await site.visit({ context: { javaScriptEnabled: false } });
      const response = await site.open(page, 'usage?key=none');
      const policy = response?.headers()['content-security-policy'] ?? '';
      expect(policy).toMatch(/script-src 'self' 'nonce-[\w+/=]+' 'strict-dynamic';/);
      expect(policy).toMatch(/style-src 'self' 'nonce-[\w+/=]+';/);
      expect(policy).toContain("frame-ancestors 'none'");
      await page.getByLabel('E-mail').fill(site.owner().email);
      await page.getByLabel('Password').fill(site.owner().password);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.waitForURL('**/o/demo/usage?key=none');
      const session = (await page.context().cookies()).find(({ name }) => name.includes('session_token'));
      expect(session).toMatchObject({ httpOnly: true, sameSite: 'Lax' });
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'leads to the identity provider even before any script has loaded',
    async () => {
      const { page } = await site.visit({ context: { javaScriptEnabled: false } });
      await site.open(page, 'members');
      const { email } = await site.person('viewer');
      provider.signIn(email);
      await page.getByRole('button', { name: 'Sign in with Example' }).click();
      await page.waitForURL('**/o/demo/members');
      await page.getByText(email).first().waitFor();
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'comes from the identity provider for those who have an account, and for nobody else',
    async () => {
      const { page } = await site.visit();
      await site.open(page, 'members');
      provider.signIn('nobody@example.com');
      await page.getByRole('button', { name: 'Sign in with Example' }).click();
      await page.getByRole('alert').getByText('there is no account for you here').waitFor();
      const { email } = await site.person('viewer');
      provider.signIn(email);
      await page.getByRole('button', { name: 'Sign in with Example' }).click();
      await page.waitForURL('**/o/demo/members');
      await page.getByText(email).first().waitFor();
    },
    TEST_TIMEOUT_MS,
  );
});

describeAccount(site);
describePageKeys(site);
describePasskeys(site);
describePages(site);
describeForms(site);
describeLive(site);
describeOddInput(site);
