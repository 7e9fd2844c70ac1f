import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { closeDb, createDb } from '@tidegate/db';
import { diesWithParent, exitOf, stopChild } from '@tidegate/processes';
import { eventually, freePort, PATIENT_DB, testEnv, urlAs } from '@tidegate/testing';
import { openForm } from '../support/console.ts';
import { controlOf, ctlVariables, must, OPERATOR } from '../support/control.ts';
import { newOrg } from '../support/org.ts';
import { useStack } from '../support/stack.ts';
import { useProvider } from './provider.ts';

const ROOT = join(import.meta.dirname, '../..');
const PASSWORD = 'a-long-enough-password';
const STOP_TIMEOUT_MS = 15_000;

// A stack of its own: the second console ends the sessions of everyone who has a password.
const stack = useStack({ console: true });
const provider = useProvider();
let site: string;
let begunByPassword: { readonly cookie: string; readonly screen: string };
const screenOf = ({ cookie, screen }: typeof begunByPassword) =>
  fetch(screen, { headers: { cookie }, redirect: 'manual' });
let stop: (() => Promise<unknown>) | undefined;

/** A second console of the stack, at `localhost`, where passkeys would be in use. */
beforeAll(async () => {
  const [port, adminPort] = [await freePort(), await freePort()];
  site = `http://localhost:${port}`;
  const { info } = stack();
  const org = await newOrg(stack());
  const before = await (await openForm(`${info.console}/sign-in`))(await member(org));
  begunByPassword = { cookie: cookiesOf(before), screen: `${info.console}/o/${org}/keys` };
  expect((await screenOf(begunByPassword)).status).toBe(200);
  const { LIMITER_ADDRESSES, RUNNER_ADDRESS, SECRET_KEY } = ctlVariables(stack());
  const env = {
    ...{ PATH: process.env.PATH, NODE_ENV: 'production', LIMITER_ADDRESSES, RUNNER_ADDRESS, SECRET_KEY },
    ...{ CONSOLE_HOST: 'localhost', CONSOLE_PORT: String(port), CONSOLE_URL: site },
    ...{ ADMIN_HOST: '127.0.0.1', ADMIN_PORT: String(adminPort), AUTH_SECRET: randomUUID() },
    ...{ DATABASE_URL: urlAs('console', info.postgres), GATEWAY_PUBLIC_URL: info.gateway },
    ...{ ...provider.env, OIDC_ONLY: 'true' },
  };
  const { command, args, options } = await diesWithParent({
    command: process.execPath,
    args: ['apps/console/dist/main.js'],
    options: { cwd: ROOT, env, detached: true },
  });
  const log = openSync(join(testEnv('directory'), `console-${port}.log`), 'a', 0o600);
  const child = spawn(command, [...args], { ...options, stdio: ['ignore', log, log] });
  closeSync(log);
  const exited = exitOf(child);
  stop = () => stopChild(child, { exited, timeoutMs: STOP_TIMEOUT_MS });
  await eventually(async () => (await fetch(`http://127.0.0.1:${adminPort}/readyz`)).ok);
});
afterAll(() => stop?.());

async function member(org: string): Promise<{ email: string; password: string }> {
  const account = { email: `member-${randomUUID()}@example.com`, password: PASSWORD };
  must(await controlOf(stack()).addMember(OPERATOR, { org, role: 'member', ...account }));
  return account;
}

const cookiesOf = (...answers: readonly Response[]): string =>
  answers
    .flatMap(({ headers }) => headers.getSetCookie())
    .map((cookie) => cookie.split(';', 1)[0])
    .join('; ');

/** Signs in with the identity provider, and asks for the keys of an organization. */
async function keysOf(org: string, email: string): Promise<Response> {
  provider.signIn(email);
  const begun = await (await openForm(`${site}/sign-in`, { marked: 'Example</button>' }))({});
  const there = await fetch(begun.headers.get('location') ?? '', { redirect: 'manual' });
  const cookie = cookiesOf(begun);
  const back = await fetch(there.headers.get('location') ?? '', { headers: { cookie }, redirect: 'manual' });
  const headers = { cookie: cookiesOf(back) };
  return fetch(`${site}/o/${org}/keys`, { headers, redirect: 'manual' });
}

describe('a console with OIDC_ONLY', () => {
  it('ends the sessions that a password may have begun when it starts', async () => {
    await eventually(async () => (await screenOf(begunByPassword)).status !== 200);
  });

  it('offers no password and no passkey, and refuses a right password sent all the same', async () => {
    const page = `${site}/sign-in`;
    const html = await (await fetch(page)).text();
    const buttons = [...html.matchAll(/<button[^>]*>(.*?)<\/button>/g)];
    expect(buttons.map(([, text]) => text?.replaceAll('<!-- -->', ''))).toEqual(['Sign in with Example']);
    const account = await member(await newOrg(stack()));
    const elsewhere = `${stack().info.console}/sign-in`;
    const refused = await (await openForm(elsewhere, { to: page }))(account);
    expect(cookiesOf(refused)).toBe('');
    expect(await refused.text()).toContain('The e-mail or password is wrong.');
    expect(cookiesOf(await (await openForm(elsewhere))(account))).toContain('session_token=');
  });

  it('lets in people who come from the identity provider', async () => {
    const org = await newOrg(stack());
    const { email } = await member(org);
    const screen = await keysOf(org, email);
    expect(screen.status).toBe(200);
    expect(await screen.text()).toContain(email);
  });

  it('asks no member for a second factor while passwords cannot sign anyone in', async () => {
    const [org, control] = [await newOrg(stack()), controlOf(stack())];
    const { email } = await member(org);
    await keysOf(org, email);
    must(await control.setPassword(OPERATOR, { email, password: PASSWORD }));
    must(await control.requireTwoFactor(OPERATOR, { org, required: true }));
    expect((await keysOf(org, email)).status).toBe(200);
  });

  // This test comes last: it uses up the attempts of all tests here.
  it('begins 20 sign-ins a minute for an address, and tells whoever wants more to wait', async () => {
    const begin = await openForm(`${site}/sign-in?next=%2Faccount`, { marked: 'Example</button>' });
    // Earlier tests made attempts, too. Their minute could end while these are counted.
    const db = createDb(stack().info.postgres, { ...PATIENT_DB, maxConnections: 1 });
    await db.signInAttempt.deleteMany().finally(() => closeDb(db));
    const begun = await Promise.all(Array.from({ length: 25 }, () => begin({})));
    const to = begun.map(({ headers }) => headers.get('location') ?? '');
    const refused = to.filter((path) => path.endsWith('/sign-in?next=%2Faccount&error=attempts'));
    expect(to.filter((path) => path.startsWith(provider.env.OIDC_ISSUER ?? '-')).length).toBeLessThan(21);
    expect(refused.length).toBeGreaterThan(4);
    const page = await fetch(new URL(refused[0] ?? '', site));
    expect(await page.text()).toContain('Too many attempts. Try again in 1 minute.');
  });
});
