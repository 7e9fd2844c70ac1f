import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Standin, startStandin } from '@tidegate/standin';
import { eventually } from '@tidegate/testing';
import { type Answer, COMPLETIONS, call, dial, MODELS, readWire } from '../support/http.ts';
import { ask, newKey, newOrg, publish } from '../support/org.ts';
import { usageOf, useStack } from '../support/stack.ts';

/** The contract's. */
const BODY_TIMEOUT_MS = 30_000;
const SHORT_BODY_TIMEOUT_MS = 5_000;
const MIB = 1024 * 1024;
const CONTEXT = 8_000_000;

const stack = useStack({
  demo: false,
  scale: { gateway: 3 },
  env: {
    gateway: { TRUSTED_PROXIES: '1' },
    'gateway-3': { BODY_TIMEOUT_MS: String(SHORT_BODY_TIMEOUT_MS) },
  },
});
let standin: Standin;
let org: string;
let key: string;
const gateways = () => stack().info.gateways.slice(0, 2) as [string, string];
/** A gateway that gives bodies less time. */
const impatient = () => stack().info.gateways[2] as string;
const sockets: Socket[] = [];

beforeAll(async () => {
  standin = await startStandin({ names: ['tide', 'eyes'], contextTokens: CONTEXT });
  org = await newOrg(stack(), { images: true, tokensPerMonth: 1_000_000_000_000 });
  await publish(stack(), org, standin.url, { context: CONTEXT });
  await publish(stack(), org, standin.url, { name: 'eyes', kind: 'vision', context: CONTEXT });
  key = (await newKey(stack(), org)).key;
  for (const gateway of gateways()) {
    for (const model of ['tide', 'eyes']) {
      await eventually(async () => (await call(gateway, { key, body: ask(model, 'Hi') })).status === 200);
    }
  }
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(() => standin?.close());

/**
 * A request of exactly `bytes` bytes. Most of them are spaces after the JSON, which no model gets
 * to see and which cost almost nothing to read.
 */
const bodyOf = (bytes: number, model: string, directives = ''): string =>
  JSON.stringify(ask(model, directives)).padEnd(bytes);

/** The same, with a message of that size. */
function messageOf(bytes: number, model: string): string {
  const empty = JSON.stringify(ask(model, ''));
  return JSON.stringify(ask(model, 'x'.repeat(bytes - empty.length)));
}

const head = (length: number, more = '') =>
  `POST ${COMPLETIONS} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${key}\r\ncontent-length: ${length}\r\n${more}\r\n`;

/** Sends a request whose body never ends. */
async function halfSent(gateway: string, declared: number, sent: string | Uint8Array = ''): Promise<Socket> {
  const socket = await dial(gateway);
  sockets.push(socket.on('error', () => {}));
  socket.write(head(declared));
  socket.write(sent);
  return socket;
}

describe('invalid keys', () => {
  const list = (gateway: string, address: string, sentKey?: string): Promise<Answer> =>
    call(gateway, {
      method: 'GET',
      target: MODELS,
      headers: { 'x-forwarded-for': address },
      ...(sentKey && { key: sentKey }),
    });

  it('20 in a minute, through any gateway, block their address and no other, also for valid keys [auth.invalid-keys] [auth.invalid-keys.block] [auth.invalid-keys.minute] [cause.invalid-keys]', async () => {
    const address = '203.0.113.20';
    for (let i = 0; i < 20; i++) {
      const answer = await list(gateways()[i % 2] as string, address, `ti_wrong${i}`);
      expect([i, answer.status]).toEqual([i, 401]);
    }
    for (const gateway of gateways()) {
      await eventually(async () => (await list(gateway, address, key)).status === 429);
      for (const answer of [
        await list(gateway, address, key),
        await list(gateway, address),
        await list(gateway, `192.0.2.1, ${address}`, key),
        await call(gateway, { key, headers: { 'x-forwarded-for': address }, body: ask('tide', 'Hi') }),
        await call(gateway, { key, target: '/v1/x', headers: { 'x-forwarded-for': address } }),
        ...(await Promise.all(
          ['GET', 'OPTIONS', 'DELETE'].map((method) =>
            call(gateway, { method, headers: { 'x-forwarded-for': address } }),
          ),
        )),
      ]) {
        expect(answer.status).toBe(429);
        expect(answer.json).toEqual({
          error: { message: expect.any(String), type: 'rate_limit_error', code: 'rate_limit_exceeded' },
        });
        expect(Number(answer.headers['retry-after'])).toBeGreaterThan(30);
        expect(Number(answer.headers['retry-after'])).toBeLessThanOrEqual(60);
      }
      expect((await list(gateway, '203.0.113.21', key)).status).toBe(200);
      expect((await list(gateway, `${address}, 203.0.113.22`, key)).status).toBe(200);
    }
  });

  it('do not include requests without a key, however many come [auth.missing.uncounted]', async () => {
    const address = '203.0.113.25';
    for (let i = 0; i < 30; i++) expect((await list(gateways()[i % 2] as string, address)).status).toBe(401);
    expect((await list(gateways()[0], address, key)).status).toBe(200);
  });

  it('gain nothing from valid ones between them, which do not count [limit.invalid-keys]', async () => {
    const address = '203.0.113.30';
    for (let i = 0; i < 19; i++) {
      expect((await list(gateways()[0], address, 'ti_wrong')).status).toBe(401);
      expect((await list(gateways()[0], address, key)).status).toBe(200);
    }
    expect((await list(gateways()[0], address, 'ti_wrong')).status).toBe(401);
    await eventually(async () => (await list(gateways()[0], address, key)).status === 429);
  });

  it('of a whole /64 of IPv6 count together', async () => {
    for (let i = 0; i < 20; i++) {
      expect((await list(gateways()[0], `2001:db8:1:2::${i.toString(16)}`, 'ti_wrong')).status).toBe(401);
    }
    await eventually(async () => (await list(gateways()[0], '2001:db8:1:2:ffff::1', key)).status === 429);
    expect((await list(gateways()[0], '2001:db8:1:3::1', key)).status).toBe(200);
  });
});

describe('the size of a body [limit.body]', () => {
  it.each([
    ['2 MiB to a text model [completions.body.text]', 2 * MIB, 'tide', 200],
    ['a byte more [completions.body.text] [errors.request_too_large]', 2 * MIB + 1, 'tide', 413],
    ['2 MiB and a byte to a vision model', 2 * MIB + 1, 'eyes', 200],
    ['20 MiB to a vision model [completions.body.vision]', 20 * MIB, 'eyes', 200],
    ['a byte more to a vision model [completions.body.vision]', 20 * MIB + 1, 'eyes', 413],
    ['over 20 MiB to a text model [errors.request_too_large]', 20 * MIB + 1, 'tide', 413],
  ] as const)('%s', async (_name, bytes, model, status) => {
    const body = status === 200 ? messageOf(bytes, model) : bodyOf(bytes, model);
    const answer = await call(gateways()[0], { key, body });
    expect([answer.status, answer.code]).toEqual([status, status === 413 ? 'request_too_large' : undefined]);
  });

  it('is counted when it is not declared', async () => {
    for (const [bytes, model, status] of [
      [2 * MIB + 1, 'tide', 413],
      [20 * MIB + 1, 'eyes', 413],
      [2 * MIB + 1, 'eyes', 200],
    ] as const) {
      const answer = await call(gateways()[0], {
        key,
        headers: { 'transfer-encoding': 'chunked', 'content-length': [] },
        body: bodyOf(bytes, model),
      });
      expect([bytes, model, answer.status]).toEqual([bytes, model, status]);
    }
  });

  it('that is declared too large is refused before it is sent [errors.request_too_large]', async () => {
    const answer = await readWire(await halfSent(gateways()[0], 20 * MIB + 1));
    expect([answer.status, answer.code, answer.headers.connection]).toEqual([
      413,
      'request_too_large',
      'close',
    ]);
    expect(answer.json).toMatchObject({ error: { type: 'invalid_request_error' } });
  });
});

describe('of bodies over 2 MiB', () => {
  const large = (directives: string) => bodyOf(2 * MIB + 1, 'eyes', directives);
  const send = (gateway: string, body: string, sentKey = key) => call(gateway, { key: sentKey, body });
  const refused = (answer: Answer) =>
    expect([answer.status, answer.code, answer.headers['retry-after']]).toEqual([
      429,
      'rate_limit_exceeded',
      '1',
    ]);

  it('an organization has 2 in flight, through all gateways, until they are answered [cause.large-bodies] [limit.large-bodies]', async () => {
    await fetch(`${standin.url}/stats/reset`, { method: 'POST' });
    const both = gateways().map((gateway) => send(gateway, large('[[held]]')));
    await eventually(() => standin.stats().held === 2);
    for (const gateway of gateways()) {
      refused(await send(gateway, large('')));
      expect((await send(gateway, bodyOf(2 * MIB, 'eyes'))).status).toBe(200);
    }
    standin.release();
    for (const answer of await Promise.all(both)) expect(answer.status).toBe(200);
    expect((await send(gateways()[0], large(''))).status).toBe(200);
    expect((await send(gateways()[1], large(''))).status).toBe(200);
  });

  it('those still arriving count, but no longer once they are given up [limit.large-bodies]', async () => {
    let arriving: readonly Socket[] = [];
    const isFull = async () => {
      refused(await send(gateways()[0], large('')));
      return true;
    };
    await eventually(async () => {
      for (const socket of arriving) socket.destroy();
      arriving = [await halfSent(gateways()[0], 3 * MIB), await halfSent(gateways()[1], 3 * MIB)];
      // On a busy machine their time may be up before they are seen.
      return eventually(isFull, { timeoutMs: BODY_TIMEOUT_MS / 2 });
    });
    arriving[0]?.destroy();
    await eventually(async () => (await send(gateways()[0], large(''))).status === 200);
  });

  it('each stops counting when it is refused, whatever the reason', async () => {
    for (let i = 0; i < 3; i++) {
      for (const body of [
        `{"a":"${'x'.repeat(2 * MIB)}"`,
        bodyOf(2 * MIB + 1, 'tide'),
        bodyOf(2 * MIB + 1, 'none'),
      ]) {
        expect((await send(gateways()[0], body)).status).not.toBe(429);
      }
    }
  });
});

describe('a body that takes longer than its time [completions.body-time]', () => {
  const tooLate = (answer: Answer) => {
    expect([answer.status, answer.headers.connection]).toEqual([408, 'close']);
    expect(answer.json).toEqual({
      error: { message: expect.any(String), type: 'invalid_request_error', code: 'request_timeout' },
    });
    expect(answer.headers['x-request-id']).toMatch(/^req_/);
  };

  it('is refused when it never begins [errors.request_timeout]', async () => {
    tooLate(await readWire(await halfSent(impatient(), 100)));
  });

  it('is refused when it stops in the middle', async () => {
    tooLate(await readWire(await halfSent(impatient(), 100, '{"model":')));
  });

  it('is refused when a byte comes every now and then, and if it is a large one, its slot is then free', async () => {
    const dripping = await Promise.all([
      halfSent(impatient(), 100),
      halfSent(impatient(), 4 * MIB),
      halfSent(impatient(), 4 * MIB, 'x'.repeat(3 * MIB)),
    ]);
    const drip = setInterval(() => {
      for (const socket of dripping) if (socket.writable) socket.write(' ');
    }, 200);
    try {
      for (const answer of await Promise.all(dripping.map(readWire))) tooLate(answer);
    } finally {
      clearInterval(drip);
    }
    for (const gateway of gateways()) {
      expect((await call(gateway, { key, body: bodyOf(2 * MIB + 1, 'eyes') })).status).toBe(200);
    }
  });
});

describe('a reader who does not read', () => {
  const READERS = 40;
  const residentBytes = async () => {
    const { metrics } = stack().info.services.find(({ name }) => name === 'gateway') ?? {};
    const text = await (await fetch(String(metrics))).text();
    return Number(/^process_resident_memory_bytes(?:{.*})? (\S+)/m.exec(text)?.[1]);
  };

  it('keeps the model waiting, not its answer in memory, and is an error when hanging up', async () => {
    const patient = await newOrg(stack(), { tokensPerMonth: 1_000_000_000_000 });
    await publish(stack(), patient, standin.url, { context: CONTEXT });
    const { key: patientKey } = await newKey(stack(), patient);
    const [gateway] = gateways();
    await eventually(
      async () => (await call(gateway, { key: patientKey, body: ask('tide', 'Hi') })).status === 200,
    );
    const before = await residentBytes();
    expect(before).toBeGreaterThan(0);
    await fetch(`${standin.url}/stats/reset`, { method: 'POST' });
    const body = JSON.stringify(ask('tide', `[[bytes=${7 * MIB}]]`, { stream: true }));
    for (let i = 0; i < READERS; i++) {
      const socket = await dial(gateway);
      sockets.push(socket.on('error', () => {}));
      socket.write(head(body.length).replace(key, patientKey) + body);
      // Waits for the head of the answer. Reads nothing from then on.
      await once(socket, 'readable');
    }
    await eventually(() => standin.stats().calls === READERS);
    await eventually(async () => (await residentBytes()) - before < 150 * MIB);
    for (const socket of sockets.splice(0)) socket.destroy();
    await eventually(() => standin.stats().inFlight === 0);
    await eventually(async () => {
      const { totals } = await usageOf(stack(), patient);
      return totals.requests === READERS + 1;
    });
  });
});

describe('a gateway that is told to stop', () => {
  it('finishes the stream it is sending, closes the connection, and takes no new one', async () => {
    const [gateway] = gateways();
    const socket = await dial(gateway);
    sockets.push(socket.on('error', () => {}));
    const body = JSON.stringify(ask('tide', '[[held]]', { stream: true }));
    socket.write(head(body.length) + body);
    await once(socket, 'readable');
    stack().kill('gateway', 'SIGTERM');
    await eventually(() =>
      dial(gateway).then(
        (open) => {
          open.destroy();
          return false;
        },
        () => true,
      ),
    );
    standin.release();
    const answer = await readWire(socket);
    expect([answer.status, answer.text.includes('data: [DONE]')]).toEqual([200, true]);
    expect((await call(gateways()[1], { key, body: ask('tide', 'Hi') })).status).toBe(200);
    await eventually(async () => (await call(gateway, { key, body: ask('tide', 'Hi') })).status === 200);
  });
});
