import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ServiceIdentity, TlsFiles } from '@tidegate/runtime';
import { eventually } from '@tidegate/testing';
import { callUnary, createLimiterClient, type LimiterClient, type LimiterHandlers } from '../index.ts';
import { type Serving, serveLimiter } from '../serve.ts';

/** Certificates for localhost. `ca` has signed `one` and `two`, another authority `stranger`. */
const FIXTURES = join(import.meta.dirname, '../../../../tests/fixtures/tls/services');
const REFRESH_MS = 20;
const token = 't'.repeat(32);

let warnings: string[];
const warn = (text: string) => warnings.push(text);
let dir: string;
let serving: Serving;
const clients: LimiterClient[] = [];

/** Lays out the files of one service. */
function files(service: string, pair: string): TlsFiles {
  const at = (name: string) => join(dir, `${service}-${name}`);
  copyFileSync(join(FIXTURES, 'ca.pem'), at('ca.pem'));
  replace(service, pair);
  return { ca: at('ca.pem'), cert: at('cert.pem'), key: at('key.pem'), refreshMs: REFRESH_MS, warn };
}

function replace(service: string, pair: string): void {
  copyFileSync(join(FIXTURES, `${pair}.key`), join(dir, `${service}-key.pem`));
  copyFileSync(join(FIXTURES, `${pair}.pem`), join(dir, `${service}-cert.pem`));
}

function client(caller: ServiceIdentity): LimiterClient {
  const made = createLimiterClient(`localhost:${serving.port}`, caller);
  clients.push(made);
  return made;
}

const month = (of: LimiterClient) =>
  callUnary(of, 'getMonth', { orgId: 'org_1' }, { deadlineMs: 60_000 }).then(
    () => status.OK,
    (error) => error.code as status,
  );

/** The serial number of the certificate that the server shows to a new connection. */
const serial = () =>
  new Promise<string>((resolve, reject) => {
    const pem = (name: string) => readFileSync(join(FIXTURES, name));
    const options = { ca: pem('ca.pem'), cert: pem('one.pem'), key: pem('one.key'), ALPNProtocols: ['h2'] };
    const socket = connect(
      { host: '127.0.0.1', servername: 'localhost', port: serving.port, ...options },
      () => {
        resolve(socket.getPeerCertificate().serialNumber);
        socket.destroy();
      },
    );
    socket.on('error', reject);
  });

beforeEach(async () => {
  warnings = [];
  dir = mkdtempSync(join(tmpdir(), 'tidegate-tls-'));
  const handlers = {
    GetMonth: (_call: unknown, callback: (error: null, month: object) => void) => callback(null, {}),
  } as unknown as LimiterHandlers;
  serving = await serveLimiter({
    host: '127.0.0.1',
    port: 0,
    handlers,
    channelOptions: {},
    log: { warn: () => {} },
    trust: { tokens: [{ service: 'console', token }], tls: files('limiter', 'one') },
  });
});
afterEach(() => {
  for (const open of clients.splice(0)) open.close();
  serving.server.forceShutdown();
  rmSync(dir, { recursive: true, force: true });
});

describe('with TLS configured', () => {
  it('a certificate must name the host that was looked up, even though the address is called', async () => {
    const caller = { token, tls: files('console', 'two') };
    const at = (serverName: string) => {
      const made = createLimiterClient({ address: `127.0.0.1:${serving.port}`, serverName }, caller);
      clients.push(made);
      return month(made);
    };
    expect(await at('localhost')).toBe(status.OK);
    expect(await at('limiter.example')).toBe(status.UNAVAILABLE);
  });

  it('a call needs a certificate of the same authority, and a token too', async () => {
    expect(await month(client({ token, tls: files('console', 'two') }))).toBe(status.OK);
    expect(await month(client({ token: null, tls: files('nobody', 'two') }))).toBe(status.UNAUTHENTICATED);
    expect(await month(client({ token, tls: null }))).toBe(status.UNAVAILABLE);
    expect(await month(client({ token, tls: files('stranger', 'stranger') }))).toBe(status.UNAVAILABLE);
  });

  it('a server shows a replaced certificate to new connections, and keeps the open ones', async () => {
    const open = client({ token, tls: files('console', 'two') });
    expect(await month(open)).toBe(status.OK);
    expect(await serial()).toBe('01');
    replace('limiter', 'two');
    await eventually(async () => (await serial()) === '02');
    expect(await month(open)).toBe(status.OK);
  });

  it('a client connects with a replaced certificate, without being created again', async () => {
    const tls = files('console', 'stranger');
    const made = client({ token, tls });
    expect(await month(made)).toBe(status.UNAVAILABLE);
    replace('console', 'two');
    await eventually(async () => (await month(made)) === status.OK);
  });

  it('a replacement that is half done changes nothing', async () => {
    copyFileSync(join(FIXTURES, 'two.pem'), join(dir, 'limiter-cert.pem'));
    await eventually(() => warnings.some((text) => text.includes('the previous ones stay in use')));
    expect(await serial()).toBe('01');
    copyFileSync(join(FIXTURES, 'two.key'), join(dir, 'limiter-key.pem'));
    await eventually(async () => (await serial()) === '02');
  });

  it.each(['', 'half'])('an incomplete authority is not used: %j', async (kind) => {
    const ca = readFileSync(join(FIXTURES, 'ca.pem'), 'utf8');
    const part = kind === 'half' ? ca.slice(0, ca.length / 2) : '';
    writeFileSync(join(dir, 'limiter-ca.pem'), part);
    await eventually(() => warnings.some((text) => text.includes('BAD_CA')));
    expect(await month(client({ token, tls: files('console', 'two') }))).toBe(status.OK);
    const tls = { ...files('gateway', 'two'), ca: join(dir, 'limiter-ca.pem') };
    expect(() => createLimiterClient('localhost:1', { token, tls })).toThrow('not a whole certificate');
  });
});
