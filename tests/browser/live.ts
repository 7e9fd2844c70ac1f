import { describe, expect, it } from '@jest/globals';
import { closeDb, createDb } from '@tidegate/db';
import { eventually, PATIENT_DB } from '@tidegate/testing';
import { expectAccessible, expectStill } from '../support/browser.ts';
import { must, OPERATOR } from '../support/control.ts';
import {
  confirm,
  isPrefetch,
  lookAgain,
  rowOf,
  type Site,
  TEST_TIMEOUT_MS,
  textOf,
  toastsOn,
  told,
} from './site.ts';

export function describeLive(site: Site): void {
  describe('live screens', () => {
    it(
      'show by themselves what others do, without anything moving',
      async () => {
        const { page: keys } = await site.signedIn();
        const { page: api } = await site.signedIn();
        const { key } = await site.newKey('Watched');
        await Promise.all([site.open(keys, 'keys'), site.open(api, 'api')]);
        await rowOf(keys, 'Watched').getByText('Never').first().waitFor();
        must(await site.control().stopModel(OPERATOR, { org: 'demo', name: 'demo-vision' }));
        await rowOf(api, 'demo-vision').getByText('Stopped').waitFor();
        must(await site.control().startModel(OPERATOR, { org: 'demo', name: 'demo-vision' }));
        await rowOf(api, 'demo-vision').getByText('Running').waitFor();
        expect((await site.ask(key)).status).toBe(200);
        await rowOf(keys, 'Watched').getByText('just now').waitFor();
        await Promise.all([expectStill(keys), expectStill(api)]);
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'show how many requests each model has in flight, as they come and go',
      async () => {
        const { page } = await site.signedIn();
        await site.open(page, 'api');
        const inFlightOf = (model: string) => rowOf(page, model).getByRole('cell').nth(1);
        const shows = (model: string, count: number) =>
          inFlightOf(model)
            .filter({ hasText: new RegExp(`^${count}$`) })
            .waitFor();
        await page.getByRole('columnheader').nth(2).filter({ hasText: 'In flight' }).waitFor();
        await shows('demo-text', 0);
        const leaving = new AbortController();
        const endless = { model: 'demo-text', messages: [{ role: 'user', content: '[[delay-ms=3600000]]' }] };
        const asking = [1, 2].map(() =>
          fetch(`${site.stack().info.gateway}/chat/completions`, {
            method: 'POST',
            headers: {
              authorization: `Bearer ${site.stack().info.apiKey}`,
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
      'say that the limits of another plan are in force once they show them',
      async () => {
        const org = await site.organization('Growing', 'Free');
        const { page } = await site.signedIn(await site.person('owner', org));
        await site.open(page, 'plan', org);
        const inForce = 'The new limits are in force.';
        let show = () => {};
        const held = new Promise<void>((resolve) => {
          show = resolve;
        });
        await page.route(/_rsc=/, async (route) => {
          await held;
          await route.continue();
        });
        await page.getByRole('button', { name: 'Change to Pro' }).click();
        const asked = page.waitForRequest(/_rsc=/);
        await confirm(page, 'Change plan');
        await asked;
        // A notice that came too early would be visible once the dialog is gone and the browser has
        // painted.
        await page.evaluate(
          'new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))',
        );
        await page.getByRole('heading', { name: 'In use on Free' }).waitFor();
        expect(await page.getByText(inForce).count()).toBe(0);
        expect(await toastsOn(page)).toEqual([]);
        show();
        await told(page, inForce);
        expect(await page.getByRole('heading', { name: 'In use on Pro' }).count()).toBe(1);
        await page.unrouteAll({ behavior: 'wait' });
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'are fetched when the pointer reaches their link, say that they are loading, and show times in the reader’s own zone on hover',
      async () => {
        const { page } = await site.signedIn(site.owner(), { context: { timezoneId: 'Asia/Tokyo' } });
        await site.open(page, 'keys');
        const prefetched = page.waitForRequest(
          (request) => isPrefetch(request) && request.url().includes('/audit'),
        );
        await page.getByRole('link', { name: 'Audit' }).hover();
        await prefetched;
        await site.whileLocked('audit_event', async () => {
          await page.getByRole('link', { name: 'Audit' }).click();
          await page.getByRole('status', { name: 'Loading' }).waitFor();
          await expectAccessible(page);
        });
        const time = page.getByRole('row').nth(1).locator('time');
        expect(await textOf(time)).toMatch(/ UTC$/);
        await eventually(async () => /GMT\+9|Japan/.test((await time.getAttribute('title')) ?? ''));
        await expectStill(page);
      },
      TEST_TIMEOUT_MS,
    );

    it(
      'keep what they show while Postgres is unavailable, say so, and continue by themselves when it is back',
      async () => {
        const [{ page: open }, { page: late }] = [await site.signedIn(), await site.signedIn()];
        await site.open(open, 'keys');
        await open.getByRole('button', { name: 'Create key' }).click();
        await open.getByRole('dialog').getByLabel('Name').fill('Half typed');
        const name = new URL(site.stack().info.postgres).pathname.slice(1);
        const admin = createDb(
          Object.assign(new URL(site.stack().info.postgres), { pathname: '/postgres' }).href,
          PATIENT_DB,
        );
        try {
          await admin.$executeRawUnsafe(`ALTER DATABASE "${name}" WITH ALLOW_CONNECTIONS false`);
          // A connection that is just being made is let in and not listed yet, so this goes on
          // ending them until the page has noticed.
          await eventually(async () => {
            await admin.$queryRaw`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ${name}`;
            await lookAgain(open);
            return open.getByText('What you see may be out of date').isVisible();
          });
          expect(await open.getByRole('dialog').getByLabel('Name').inputValue()).toBe('Half typed');
          await open.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
          await open.getByText('Check whether anything changed').waitFor();
          await site.open(late, 'keys');
          await late.getByRole('alert').getByText('did not answer').waitFor();
          await expectAccessible(late);
        } finally {
          await admin.$executeRawUnsafe(`ALTER DATABASE "${name}" WITH ALLOW_CONNECTIONS true`);
          await closeDb(admin);
        }
        await rowOf(late, 'Local stack').waitFor();
        await open.getByText('What you see may be out of date').waitFor({ state: 'detached' });
        await open.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
        await open.getByText('“Half typed” is ready').waitFor();
      },
      TEST_TIMEOUT_MS,
    );
  });
}
