import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { openForm, signInByForm } from '../support/console.ts';
import type { Site } from './site.ts';

/*
 * Requests that no page of the console sends, but anyone who is signed in can. The console refuses
 * them. If it failed instead, the answer would have the digest of a log line.
 */

const BUILT = resolve(import.meta.dirname, '../../apps/console/.next/server/server-reference-manifest.json');
const DIGEST = /(digest\\?":\\?"|data-dgst=")\d/;
const LONG = 'x'.repeat(3_000);

function actionId(name: string): string {
  const { node } = JSON.parse(readFileSync(BUILT, 'utf8')) as {
    node: Record<string, { exportedName: string }>;
  };
  const [id] = Object.entries(node).find(([, { exportedName }]) => exportedName === name) ?? [];
  if (!id) throw new Error(`there is no action ${name}`);
  return id;
}

export function describeOddInput(site: Site): void {
  describe('odd input', () => {
    let headers: Record<string, string>;
    beforeAll(async () => {
      const cookie = await signInByForm(site.url(), site.owner());
      if (!cookie) throw new Error('the owner cannot sign in');
      headers = { cookie, origin: site.url() };
    });
    async function act(name: string, args: unknown): Promise<string> {
      const own = { 'next-action': actionId(name), 'content-type': 'text/plain;charset=UTF-8' };
      const body = JSON.stringify(args);
      const answer = await fetch(`${site.url()}/o/demo/keys`, {
        method: 'POST',
        headers: { ...headers, ...own },
        body,
      });
      expect(answer.status).toBe(200);
      return await answer.text();
    }

    it.each([
      ['revokeKey', ['demo', 'x\u0000'], '"field":"id"'],
      ['createKey', [{ org: 'demo', name: 'k', models: ['\u0000'] }], '"field":"models"'],
      ['createKey', [], 'must be an object'],
      ['startModel', ['demo', '\u0000'], '"field":"name"'],
      ['endSession', ['x\u0000'], 'has ended already'],
      ['endSession', [{}], 'has ended already'],
      ['listOptions', ['demo', null, null], 'FALLBACK;404'],
      ['listChoices', [{}, 'keys'], 'FALLBACK;404'],
      ['changePassword', [null, null], 'Password must'],
      ['confirmTwoFactor', [{}], 'not the code'],
    ] as const)('of an action is refused: %s with %j', async (name, args, said) => {
      const text = await act(name, args);
      expect(text).toContain(said);
      expect(text).not.toMatch(DIGEST);
    });

    it.each([
      ['usage?key=LONG', 200],
      ['requests?key=LONG', 200],
      ['keys/LONG', 404],
      ['api/LONG', 404],
      ['audit?before=x', 200],
      ['audit/export?before=x', 400],
      ['audit/export?from=x', 400],
      ['requests?key=%00', 400],
      ['keys/%zz', 400],
    ])('in an address is refused, or names nothing: %s', async (path, status) => {
      const answer = await fetch(`${site.url()}/o/demo/${path.replace('LONG', LONG)}`, { headers });
      expect(answer.status).toBe(status);
      expect(await answer.text()).not.toMatch(DIGEST);
    });

    it('from anyone that is too large holds up no later request of its connection', async () => {
      const { hostname, port } = new URL(site.url());
      const own = `Host: ${hostname}\r\nOrigin: ${site.url()}\r\nNext-Action: ${actionId('signIn')}\r\n`;
      const body = `--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n${'a'.repeat(4_000_000)}\r\n--x--`;
      const type = 'Content-Type: multipart/form-data; boundary=x';
      const client = connect(Number(port), hostname);
      client.write(`POST /sign-in HTTP/1.1\r\n${own}${type}\r\nContent-Length: ${body.length}\r\n\r\n`);
      client.write(body);
      client.write(`GET /pulse HTTP/1.1\r\nHost: ${hostname}\r\nConnection: close\r\n\r\n`);
      expect(await text(client)).toContain('HTTP/1.1 401 Unauthorized');
    });

    it('from anyone is not written into the log: there is no endpoint for images', async () => {
      const answer = await fetch(`${site.url()}/_next/image?url=%2Fx%0Aforged-line&w=64&q=75`);
      expect(answer.status).toBe(404);
      const log = readFileSync(join(site.stack().dataDir, 'logs/console.log'), 'utf8');
      expect(log).not.toContain('forged-line');
    });

    describe('from someone with an invitation, sent without scripts', () => {
      let send: Awaited<ReturnType<typeof openForm>>;
      beforeAll(async () => {
        const invited = await act('invite', ['demo', 'guest@example.com', 'viewer']);
        const [, link] = /"link":"([^"]*)"/.exec(invited) ?? [];
        send = await openForm(link ?? '');
      });

      it('is refused on the same page, with what was typed', async () => {
        const page = await (await send({ name: 'Ada', password: 'short' })).text();
        expect(page).toContain('value="Ada"');
        expect(page).toContain('>Password must have 8 to 128 characters.<');
      });

      it('costs no more passwords to hash than an address may try', async () => {
        const pages: string[] = [];
        for (let i = 0; i < 21; i++) {
          pages.push(await (await send({ name: 'Ada', password: 'password1' })).text());
          if (i === 0) await site.keepAttempts();
        }
        expect(pages[0]).not.toContain('Too many attempts.');
        expect(pages.at(-1)).toContain('Too many attempts.');
      });
    });
  });
}
