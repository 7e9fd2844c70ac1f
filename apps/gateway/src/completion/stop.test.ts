import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { ModelState } from '@tidegate/rpc';
import { eventually, type UpstreamHandler } from '@tidegate/testing';
import type { Parser } from '../body/parse.ts';
import { HUNG_UP } from '../body/read-body.ts';
import type { ImageFetcher } from '../images/fetch.ts';
import { INTERNAL_ERROR } from '../refusals.ts';
import { admitted } from '../testing/fake-limiter.ts';
import { type Harness, hello, startHarness, wholeAnswer } from '../testing/harness.ts';
import type { Holdings } from './holdings.ts';

const DATA_URL = Buffer.from('"data:image/png;base64,AAAA"');
const answers: UpstreamHandler = (_request, reply) => reply.json(wholeAnswer());
const fetches: ImageFetcher['fetchAll'] = async () => [DATA_URL];

let harness: Harness;
let upstream = answers;
let fetchAll = fetches;
let sockets: Socket[] = [];
let original: Harness['limiterServer']['answers'];
let originalWake: Harness['runner']['wake'];
beforeAll(async () => {
  harness = await startHarness({
    env: { HEARTBEAT_MS: '50' },
    images: { fetchAll: (...all) => fetchAll(...all) },
    upstream: (request, reply) => upstream(request, reply),
  });
  original = { ...harness.limiterServer.answers };
  originalWake = harness.runner.wake;
  await harness.publish({ name: 'vision', kind: 'vision' });
  await harness.publish({
    name: 'sleeper',
    mode: 'wake_on_request',
    condition: 'CONDITION_ASLEEP',
    wakeable: true,
    replicas: [],
  });
});
afterAll(() => harness.stop());
afterEach(async () => {
  jest.restoreAllMocks();
  for (const socket of sockets) socket.destroy();
  sockets = [];
  upstream = answers;
  fetchAll = fetches;
  Object.assign(harness.limiterServer.answers, original);
  harness.runner.wake = originalWake;
  await eventually(() => harness.limiter.ready && harness.gateway.exchanges.size === 0);
  harness.limiterServer.calls.length = 0;
  harness.logged.length = 0;
});

const FAULT = 'a request failed because of a bug in the gateway';
const url = 'https://example.com/a.png';
const withImage = {
  model: 'vision',
  messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
};
const large = { ...hello, model: 'vision', messages: [{ role: 'user', content: 'x'.repeat(2_200_000) }] };

const limiterCalls = () => harness.limiterServer.requestCalls;
const asked = (call: string) => limiterCalls().includes(call as never);
const heldNow = (): Holdings | null => [...harness.gateway.exchanges][0]?.held ?? null;

/** Sends a request, but leaves out `missing` bytes of its body. */
function send(body: object, missing = 0): { socket: Socket; answer: () => string } {
  const text = JSON.stringify(body);
  const head = [
    'POST /v1/chat/completions HTTP/1.1',
    'host: x',
    `authorization: Bearer ${harness.apiKey}`,
    `content-length: ${Buffer.byteLength(text) + missing}`,
  ];
  let received = '';
  const socket = connect(harness.server.port, '127.0.0.1', () =>
    socket.write(`${head.join('\r\n')}\r\n\r\n${text}`),
  );
  socket
    .on('error', () => {})
    .on('data', (bytes) => {
      received += bytes;
    });
  sockets.push(socket);
  return { socket, answer: () => received };
}

interface Stage {
  readonly body: object;
  /** Bytes of the body that are never sent. */
  readonly missing?: number;
  /**
   * Makes the request wait at this stage. If it cannot continue by itself, returns a function that
   * lets it go on.
   */
  readonly arrange: () => (() => void) | undefined;
  readonly reached: () => boolean;
  /** The limiter calls made up to this stage. `end` is the call that ends the request. */
  readonly calls: readonly string[];
  readonly end?: string;
}

/** Holds back the limiter's answer to this call. Returns a function that releases it. */
function withhold(call: 'admit' | 'reserve'): () => void {
  let letGo = () => {};
  const answer = new Promise<{ admission: typeof admitted }>((resolve) => {
    letGo = () => resolve({ admission: admitted });
  });
  harness.limiterServer.answers[call] = () => answer;
  return letGo;
}

const stages: [string, Stage][] = [
  [
    'its body arrives',
    {
      body: large,
      missing: 1,
      arrange: () => undefined,
      reached: () => asked('takeLargeBody') && (heldNow()?.bytes ?? 0) > 2_000_000,
      calls: ['takeLargeBody'],
      end: 'releaseLargeBody',
    },
  ],
  [
    'its body waits to be parsed',
    {
      body: large,
      arrange: () => {
        const wait: Parser['parse'] = (_body, _orgId, signal) =>
          new Promise((resolve) => signal?.().addEventListener('abort', () => resolve(HUNG_UP)));
        jest.spyOn(harness.gateway.parser, 'parse').mockImplementation(wait);
        return undefined;
      },
      reached: () => jest.mocked(harness.gateway.parser.parse).mock.calls.length === 1,
      calls: ['takeLargeBody'],
      end: 'releaseLargeBody',
    },
  ],
  [
    'its body is parsed',
    {
      body: hello,
      arrange: () => {
        const { parse } = harness.gateway.parser;
        let letGo = () => {};
        const waiting = new Promise<void>((resolve) => {
          letGo = resolve;
        });
        const spy = jest.spyOn(harness.gateway.parser, 'parse');
        spy.mockImplementation((...all) => waiting.then(() => parse(...all)));
        return letGo;
      },
      reached: () => jest.mocked(harness.gateway.parser.parse).mock.calls.length === 1,
      calls: [],
    },
  ],
  [
    'it is admitted',
    {
      body: hello,
      arrange: () => withhold('admit'),
      reached: () => asked('admit'),
      calls: ['admit'],
      end: 'withdraw',
    },
  ],
  [
    'its images are fetched',
    {
      body: withImage,
      arrange: () => {
        fetchAll = (_links, claim, signal) =>
          new Promise((_resolve, reject) => {
            claim(1_000);
            signal.addEventListener('abort', () => reject(signal.reason));
          });
        return undefined;
      },
      reached: () => asked('admit') && (heldNow()?.bytes ?? 0) > 1_000,
      calls: ['admit'],
      end: 'withdraw',
    },
  ],
  [
    'its model wakes',
    {
      body: { ...hello, model: 'sleeper' },
      arrange: () => {
        let letGo = () => {};
        harness.runner.wakes.length = 0;
        harness.runner.wake = (modelId) =>
          new Promise<ModelState>((resolve) => {
            letGo = () => resolve({ modelId, condition: 'CONDITION_FAILED' });
          });
        return () => letGo();
      },
      reached: () => harness.runner.wakes.length === 1,
      calls: ['admit'],
      end: 'withdraw',
    },
  ],
  [
    'its reservation is made',
    {
      body: withImage,
      arrange: () => withhold('reserve'),
      reached: () => asked('reserve'),
      calls: ['admit', 'reserve'],
      end: 'withdraw',
    },
  ],
  [
    'its model answers',
    {
      body: hello,
      arrange: () => {
        upstream = (_request, reply) => reply.closed;
        return undefined;
      },
      reached: () => harness.model.inFlight === 1,
      calls: ['admit'],
      end: 'settle',
    },
  ],
];

/**
 * Sends the request of a stage and ends it there. Checks that nothing is held and nothing is left
 * to give back.
 */
async function endAt({ body, missing, arrange, reached }: Stage, end: (socket: Socket) => unknown) {
  const letGo = arrange();
  const { socket, answer } = send(body, missing);
  await eventually(reached);
  const held = heldNow();
  await end(socket);
  letGo?.();
  await eventually(() => harness.gateway.activity.total === 0 && held?.bytes === 0);
  expect(harness.logged.join('')).not.toContain(FAULT);
  await held?.release(INTERNAL_ERROR, null);
  expect(harness.gateway.activity.total).toBe(0);
  return answer;
}

describe('a client that hangs up', () => {
  it.each(stages)('while %s leaves nothing held, and everything is released once', async (_when, stage) => {
    await endAt(stage, async (socket) => {
      socket.destroy();
      await eventually(() => [...harness.gateway.exchanges].every(({ aborted }) => aborted));
    });
    await eventually(() => harness.gateway.exchanges.size === 0);
    expect(limiterCalls()).toEqual([...stage.calls, ...(stage.end ? [stage.end] : [])]);
    const settlement = { answered: false, usageValid: false, errorCode: 'client_closed' };
    for (const { settle } of harness.limiterServer.of('settle')) expect(settle).toMatchObject(settlement);
    const hungUp = () => harness.logged.find((line) => line.includes('"aborted":"client_closed"'));
    expect(await eventually(hungUp)).not.toContain('"code"');
  });
});

describe('a request whose gateway is stopped', () => {
  it.each(stages)('while %s gets an error and releases what it held', async (_when, stage) => {
    const answer = await endAt(stage, () => harness.gateway.exchanges.abortAll('shutdown'));
    await eventually(() => answer().includes('internal_error'));
    expect(answer()).toMatch(/^HTTP\/1\.1 500 /);
    expect(answer().includes('x-ratelimit')).toBe(stage.end === 'settle');
    expect(limiterCalls()).toEqual([...stage.calls, ...(stage.end ? [stage.end] : [])]);
  });
});

describe('a request whose lease is lost', () => {
  const underIt = stages.filter(([, { end }]) => end !== undefined);
  it.each(underIt)('while %s is ended, and its slots are already free', async (when, stage) => {
    const { instanceId } = harness.limiter.admissionHandle('org', 'x');
    const answer = await endAt(stage, async () => {
      harness.limiterServer.answers.heartbeat = ({ heartbeat }) => ({
        heartbeat: { leaseLost: heartbeat?.instanceId === instanceId },
      });
      await eventually(() => harness.limiter.admissionHandle('org', 'x').instanceId !== instanceId);
    });
    await eventually(() => answer().includes('internal_error'));
    // The call that was under way is undone to be sure: limiters ignore that for an ended instance.
    const undone = when === 'it is admitted' ? ['withdraw'] : [];
    await eventually(() => limiterCalls().length >= stage.calls.length + undone.length);
    expect(limiterCalls()).toEqual([...stage.calls, ...undone]);
  });
});

describe('an internal fault', () => {
  const fault = () => Promise.reject(new Error('an internal fault'));
  it.each<[string, () => void, object, string[]]>([
    [
      'before the admission',
      () => jest.spyOn(harness.gateway.parser, 'parse').mockImplementation(fault),
      large,
      ['takeLargeBody', 'releaseLargeBody'],
    ],
    [
      'after the admission',
      () => {
        fetchAll = fault;
      },
      withImage,
      ['admit', 'withdraw'],
    ],
    [
      'after the reservation',
      () =>
        jest.spyOn(harness.gateway.replicas, 'take').mockImplementation(() => {
          throw new Error('an internal fault');
        }),
      hello,
      ['admit', 'settle'],
    ],
  ])('%s leaves no slot, open reservation or memory held', async (_when, arrange, body, calls) => {
    arrange();
    const { answer } = send(body);
    await eventually(() => answer().includes('internal_error'));
    expect(limiterCalls()).toEqual(calls);
    for (const { settle } of harness.limiterServer.of('settle'))
      expect(settle).toMatchObject({ answered: false, errorCode: 'internal_error' });
    expect(harness.gateway.activity.total).toBe(0);
    for (const { held } of harness.gateway.exchanges) expect(held?.bytes).toBe(0);
    expect(harness.logged.join('')).toContain(FAULT);
  });
});

describe('the deletion of an organization', () => {
  it('ends its requests in flight and those of no other, and has its keys checked again', async () => {
    let hungUp = false;
    upstream = async (_request, reply) => {
      await reply.closed;
      hungUp = true;
    };
    const { answer } = send(hello);
    await eventually(() => asked('admit') && harness.gateway.activity.total === 1);
    const authenticated = harness.limiterServer.of('authenticate').length;
    const dropped = jest.spyOn(harness.gateway.principals, 'dropOrg');
    harness.limiterServer.notify({ orgDeleted: { orgId: 'org_other' } });
    await eventually(() => dropped.mock.calls.length === 1);
    expect(heldNow()).not.toBeNull();
    expect([...harness.gateway.exchanges][0]?.aborted).toBeNull();
    harness.limiterServer.notify({ orgDeleted: { orgId: harness.orgId } });
    await eventually(() => answer() !== '' && hungUp);
    expect(harness.limiterServer.of('settle')[0]?.settle).toMatchObject({
      answered: false,
      errorCode: 'org_deleted',
    });
    harness.limiterServer.answers.authenticate = () => ({ authenticate: { keyInvalid: {} } });
    const refused = send(hello);
    await eventually(() => refused.answer().includes('invalid_api_key'));
    expect(harness.limiterServer.of('authenticate').length).toBeGreaterThan(authenticated);
  });
});
