import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Standin, startStandin } from '@tidegate/standin';
import { eventually } from '@tidegate/testing';
import type { Locator, Page } from 'playwright-core';
import { expectAccessible, expectSound } from '../support/browser.ts';
import { must, OPERATOR } from '../support/control.ts';
import { confirm, rowOf, type Site, TEST_TIMEOUT_MS, textOf, told } from './site.ts';

const CONTEXT_TOKENS = 1_000;
/** Ample on a busy machine. It costs time only when something is wrong. */
const ARRIVAL_MS = 60_000;

/**
 * Whether one element ends above another. A dialog's body that scrolls is hidden behind its
 * buttons.
 */
async function endsAbove(one: Locator, other: Locator): Promise<boolean> {
  const [upper, lower] = [await one.boundingBox(), await other.boundingBox()];
  return upper !== null && lower !== null && upper.y + upper.height <= lower.y;
}

/** Reads an answer until it has sent a text. Rejects if it ends without it. */
async function readUntil({ body }: Response, wanted: string): Promise<void> {
  let read = '';
  for await (const text of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    read += text;
    if (read.includes(wanted)) return;
  }
  throw new Error(`the answer ends without ${wanted}`);
}

const figure = (page: Page, name: string) =>
  textOf(page.locator('dl > div').filter({ hasText: name }).locator('dd').first());

export function describeDetail(site: Site): void {
  describe('the page of a model', () => {
    let standin: Standin;
    let org: string;
    beforeAll(async () => {
      standin = await startStandin({ names: ['near'], contextTokens: CONTEXT_TOKENS });
      org = await site.organization('Detail');
      const model = { org, name: 'near', kind: 'text', mode: 'always_on' } as const;
      const urls = [`${standin.url}/v1`, 'http://127.0.0.1:9/v1'];
      must(await site.control().publishModel(OPERATOR, { ...model, contextTokens: CONTEXT_TOKENS, urls }));
    }, TEST_TIMEOUT_MS);
    afterAll(() => standin.close());

    it(
      'keeps what another owner saves while its settings are being edited',
      async () => {
        const { page } = await site.signedIn(await site.person('owner', org));
        await site.open(page, 'api', org);
        await page.getByRole('link', { name: 'near' }).click();
        await page.getByRole('button', { name: 'Edit' }).click();
        const form = page.getByRole('dialog');
        await form.getByLabel('Upstream model').fill('near');
        must(await site.control().changeModel(OPERATOR, { org, name: 'near', contextTokens: 700 }));
        // The page has the change, and its dialog still shows what was there before.
        await page.getByText('context 700 tokens').waitFor();
        await form.getByRole('button', { name: 'Save' }).click();
        await form.getByRole('button', { name: 'Save anyway' }).click();
        await form.waitFor({ state: 'detached' });
        const [model] = must(await site.control().listModels(OPERATOR, { org }));
        expect(model?.contextTokens).toBe(700);
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'shows what the model has been doing, and lets an owner edit, stop, start and delete it',
      async () => {
        const { page, errors } = await site.signedIn(await site.person('owner', org));
        await site.open(page, 'api', org);
        await page.getByText('1 of 2 up').first().waitFor();
        await page.getByRole('link', { name: 'near' }).click();
        await page.getByRole('heading', { level: 1, name: 'near' }).waitFor();
        await rowOf(page, 'Running').waitFor();
        await page.getByText('1 of 2 up').first().waitFor();
        const down = page.getByRole('list', { name: 'Replicas that cannot be called' });
        expect(await textOf(down)).toContain(
          'http://127.0.0.1:9/v1 cannot be called. Its server does not answer',
        );
        await expectSound(page);
        const errorsLink = page.getByRole('link', { name: 'Latest errors' });
        expect(await errorsLink.getAttribute('href')).toMatch(/requests\?model=\w+&outcome=errors$/);

        await page.getByRole('button', { name: 'Edit' }).click();
        const form = page.getByRole('dialog');
        await form.getByLabel('Servers', { exact: true }).fill('not a url');
        await form.getByLabel('Context length').fill('0');
        await form.getByRole('button', { name: 'Save' }).click();
        await form.getByText(/http:\/\/ or https:\/\//).waitFor();
        await form.getByText(/from 1 to/).waitFor();
        await form.getByLabel('Servers', { exact: true }).fill('http://127.0.0.1:9/v1');
        await form.getByLabel('Context length').fill('800');
        await page.setViewportSize({ width: 375, height: 667 });
        await form.getByRole('button', { name: 'Save' }).click();
        await form.getByText('You can save it anyway').waitFor();
        const button = form.getByRole('button', { name: 'Save anyway' });
        expect(await endsAbove(form.getByText('You can save it anyway'), button)).toBe(true);
        expect(await textOf(form.getByRole('status'))).toContain('Its server does not answer');
        await expectAccessible(page);
        await button.click();
        await page.getByText('context 800 tokens').waitFor();
        await page.setViewportSize({ width: 1280, height: 900 });

        await page.getByRole('button', { name: 'Edit' }).click();
        await form.getByLabel('Context length').fill('801');
        await form.getByRole('button', { name: 'Save' }).click();
        await button.waitFor();
        await form.getByLabel('Servers', { exact: true }).fill(`${standin.url}/v1`);
        await form.getByLabel('Context length').fill('900');
        await form.getByLabel('Upstream key').fill('sk-upstream');
        await form.getByRole('button', { name: 'Save', exact: true }).click();
        await told(page, /^Model changed\. Reached .* It serves near/);
        await page.getByText('context 900 tokens').waitFor();
        await page.getByText('Stored encrypted, never shown').waitFor();
        expect(await page.content()).not.toContain('sk-upstream');

        await page.getByRole('button', { name: 'Stop', exact: true }).click();
        await confirm(page, 'Stop model');
        await rowOf(page, 'Stopped').waitFor();
        await page.getByRole('button', { name: 'Start near' }).click();
        await eventually(async () => (await textOf(page.locator('tbody tr').first())).includes('Running'));
        await page.getByRole('button', { name: 'Delete' }).click();
        await confirm(page, 'Delete model');
        await page.waitForURL(`**/o/${org}/api`);
        expect(errors).toEqual([]);
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'shows a viewer no settings and no actions',
      async () => {
        const [model] = must(await site.control().listModels(OPERATOR, { org: 'demo' }));
        const { page } = await site.signedIn(await site.person('viewer'));
        await site.open(page, `api/${model?.id}`);
        await page.getByRole('heading', { name: 'Conditions' }).waitFor();
        expect(await page.getByText('http://').count()).toBe(0);
        for (const name of ['Edit', 'Delete', 'Stop', 'Start'])
          expect(await page.getByRole('main').getByRole('button', { name }).count()).toBe(0);
      },
      TEST_TIMEOUT_MS,
    );
  });

  describe('the page of a key or a model', () => {
    it.each(['keys/key_nowhere', 'api/mdl_nowhere', 'nowhere/at-all'])(
      'answers 404 for %s, where there is nothing, and leaves the rest of the console in place',
      async (path) => {
        const { page } = await site.signedIn();
        expect((await site.open(page, path))?.status()).toBe(404);
        await page.getByRole('heading', { level: 1, name: 'There is nothing here' }).waitFor();
        await expectSound(page);
        await page.getByRole('link', { name: 'Usage' }).click();
        await page.getByRole('heading', { level: 1, name: 'Usage' }).waitFor();
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'begins to arrive before its usage is read, and has its name as its title',
      async () => {
        const { page } = await site.signedIn();
        const cookies = (await page.context().cookies()).map(({ name, value }) => `${name}=${value}`);
        const headers = { cookie: cookies.join('; ') };
        const [key] = must(await site.control().listKeys(OPERATOR, { org: 'demo' }));
        const [model] = must(await site.control().listModels(OPERATOR, { org: 'demo' }));
        for (const [path, name] of [
          [`keys/${key?.id}`, key?.name],
          [`api/${model?.id}`, model?.name],
        ] as const) {
          await site.whileLocked('usage_day', async () => {
            const url = `${site.url()}/o/demo/${path}`;
            const answer = await fetch(url, { headers, signal: AbortSignal.timeout(ARRIVAL_MS) });
            expect(answer.status).toBe(200);
            await readUntil(answer, 'aria-label="Loading"');
          });
          await site.open(page, path);
          await eventually(async () => (await page.title()) === `${name} · Tidegate`);
        }
      },
      TEST_TIMEOUT_MS,
    );
  });

  describe('the page of a key', () => {
    it(
      'shows what the key was used for and who created it, and lets an owner create one like it, revoke it and delete it',
      async () => {
        const limits = { requestsPerMinute: 77, requestsAtOnce: 7, models: ['demo-text'] };
        const { page, errors } = await site.signedIn();
        await site.open(page, 'keys');
        await page.getByRole('heading', { level: 1 }).waitFor();
        // Now that the browser is warm, it finds the key on its page while that is still new.
        const { id, key } = await site.newKey('Original', { org: 'demo', ...limits });
        expect((await site.ask(key)).status).toBe(200);
        await site.open(page, 'keys');
        await page.getByRole('link', { name: 'Original' }).click();
        await page.waitForURL(`**/keys/${id}`);
        await page.getByText('just now by ctl').waitFor();
        await page.getByText('77/min · 7 at once').waitFor();
        await eventually(async () => (await figure(page, 'Requests')) === '1');
        await expectSound(page);
        expect(await page.getByRole('link', { name: 'Latest errors' }).getAttribute('href')).toBe(
          `/o/demo/requests?key=${id}&outcome=errors`,
        );

        await page.getByText('No request of this key was refused in the last 24 hours.').waitFor();
        expect((await site.ask(key, { model: 'nothing' })).status).toBe(404);

        await page.getByRole('button', { name: 'Create one like this' }).click();
        const form = page.getByRole('dialog');
        expect(await form.getByLabel('Requests per minute').inputValue()).toBe('77');
        expect(await form.getByLabel('Requests at once').inputValue()).toBe('7');
        expect(await form.getByRole('checkbox', { name: /demo-text/ }).isChecked()).toBe(true);
        await form.getByLabel('Name').fill('Copy');
        await form.getByRole('button', { name: 'Create key' }).click();
        await page.getByRole('button', { name: 'I have copied the key' }).click();
        const created = must(await site.control().listKeys(OPERATOR, { org: 'demo' }));
        expect(created.find(({ name }) => name === 'Copy')).toMatchObject({
          requestsPerMinute: 77,
          requestsAtOnce: 7,
          mayCall: { all: false, models: ['demo-text'] },
        });

        await page.getByRole('heading', { name: '1 refused in the last 24 hours' }).waitFor();
        expect(await textOf(rowOf(page, 'Unknown model'))).toContain('No published model has this name');

        await page.getByRole('button', { name: 'Revoke' }).click();
        await confirm(page, 'Revoke key');
        await page.getByRole('button', { name: 'Delete' }).click();
        await confirm(page, 'Delete key');
        await page.waitForURL('**/o/demo/keys');
        expect(errors).toEqual([]);
      },
      TEST_TIMEOUT_MS,
    );
  });
}
