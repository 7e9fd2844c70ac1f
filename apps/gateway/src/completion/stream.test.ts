import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { eventually, type UpstreamHandler } from '@tidegate/testing';
import { type Harness, hello, startHarness } from '../testing/harness.ts';

let script: UpstreamHandler;
/** How long the longest streams may last. No other timers run as long. */
const MAX_MS = { always_on: 8_000_000, wake_on_request: 4_000_000 };
/**
 * Only the impatient ones end what takes long. This one gives a busy machine the time that it
 * needs.
 */
let harness: Harness;
let impatientForTheFirst: Harness;
let impatientForTheRest: Harness;
const all = () => [harness, impatientForTheFirst, impatientForTheRest];

const start = (env: Record<string, string>) =>
  startHarness({ upstream: (request, reply) => script(request, reply), env });
beforeAll(async () => {
  harness = await start({
    HEARTBEAT_MS: '100',
    STREAM_MAX_ALWAYS_ON_MS: String(MAX_MS.always_on),
    STREAM_MAX_WAKE_ON_REQUEST_MS: String(MAX_MS.wake_on_request),
  });
  impatientForTheFirst = await start({ FIRST_EVENT_TIMEOUT_MS: '400' });
  // Time enough for the first event, whatever else the machine does.
  impatientForTheRest = await start({ STREAM_PAUSE_MS: '150' });
});
afterAll(() => Promise.all(all().map((one) => one.stop())));
afterEach(() => {
  for (const { limiterServer } of all()) limiterServer.calls.length = 0;
});

const streamed = { ...hello, stream: true };
const withUsage = { ...streamed, stream_options: { include_usage: true } };
const piece = (content: string, finish_reason: string | null = null) => ({
  choices: [{ index: 0, delta: { content }, finish_reason }],
});
const usage = { choices: [], usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 } };
const settled = ({ limiterServer } = harness) => limiterServer.of('settle').map(({ settle }) => settle);
const eventsOf = (text: string) => {
  expect(text.endsWith('\n\n')).toBe(true);
  return text
    .split('\n\n')
    .filter(Boolean)
    .map((event) => {
      expect(event.startsWith('data: ')).toBe(true);
      return event === 'data: [DONE]' ? '[DONE]' : JSON.parse(event.slice(6));
    });
};
/** The events of a stream that broke off. Its client must see an error. */
async function brokenOff(response: Response) {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let text = '';
  const read = async () => {
    for (let next = await reader.read(); !next.done; next = await reader.read())
      text += Buffer.from(next.value);
  };
  await expect(read()).rejects.toThrow('terminated');
  return eventsOf(text);
}
const contentOf = (events: { choices?: { delta: { content: string } }[] }[]) =>
  events.map((event) => event.choices?.[0]?.delta.content ?? '').join('');

describe('a streamed answer', () => {
  it('is chunks with one id, created and model, then usage if requested, then [DONE]', async () => {
    script = async (_request, reply) => {
      for (const chunk of [piece('Hel'), piece('lo'), piece('', 'stop'), usage]) await reply.event(chunk);
      await reply.done();
    };
    const response = await harness.complete(withUsage);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(response.headers.get('x-ratelimit-limit-requests')).toBe('60');
    const events = eventsOf(await response.text());
    expect(events).toHaveLength(6);
    expect(contentOf(events)).toBe('Hello');
    expect(events.at(-2)).toMatchObject({ choices: [], usage: usage.usage });
    expect(events.at(-1)).toBe('[DONE]');
    const identities = events
      .slice(0, -1)
      .map(({ id, created, model, object }) => `${id} ${created} ${model} ${object}`);
    expect(new Set(identities).size).toBe(1);
    expect(harness.model.requests.at(-1)?.json()).toMatchObject({
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it('asks the model for usage and meters it even when the client does not ask [metered.streams]', async () => {
    script = async (_request, reply) => {
      for (const chunk of [piece('Hi', 'length'), usage]) await reply.event(chunk);
      await reply.done();
    };
    const events = eventsOf(await (await harness.complete(streamed)).text());
    expect(events.every((event) => event === '[DONE]' || !('usage' in event))).toBe(true);
    expect(harness.model.requests.at(-1)?.json().stream_options).toEqual({ include_usage: true });
    expect(settled()).toEqual([
      expect.objectContaining({ answered: true, usageValid: true, completionTokens: 2 }),
    ]);
    expect(settled()[0]?.firstChunkMs).toBeGreaterThanOrEqual(1);
  });

  it('is settled before [DONE] leaves', async () => {
    script = async (_request, reply) => {
      await reply.event(piece('Hi', 'stop'));
      await reply.done();
    };
    const { answers } = harness.limiterServer;
    const { settle } = answers;
    let acknowledge = () => {};
    answers.settle = () =>
      new Promise((resolve) => {
        acknowledge = () => resolve({ settle: {} });
      });
    const response = await harness.complete(streamed);
    const reader = response.body?.getReader();
    let text = '';
    const read = async () => {
      for (let next = await reader?.read(); next && !next.done; next = await reader?.read())
        text += Buffer.from(next.value).toString();
    };
    const reading = read();
    await eventually(() => text.includes('Hi') && harness.limiterServer.of('settle').length > 0);
    expect(text).not.toContain('[DONE]');
    expect(harness.limiter.unacknowledged).toBe(1);
    acknowledge();
    await reading;
    expect(text).toContain('[DONE]');
    expect(harness.limiter.unacknowledged).toBe(0);
    answers.settle = settle;
  });

  it('goes on to its normal end on a replica that is removed meanwhile, and new ones go to the others', async () => {
    const at = (path: string) => ({ replicaId: path, baseUrl: `${harness.model.url}/${path}` });
    const called: string[] = [];
    let finish = () => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    script = async ({ path }, reply) => {
      called.push(path);
      await reply.event(piece(path));
      await finished;
      await reply.event(piece('.', 'stop'));
      await reply.event(usage);
      await reply.done();
    };
    const pathOf = (replica: string) => `/${replica}/chat/completions`;
    const { modelId } = await harness.publish({ name: 'shrinking', replicas: [at('one'), at('other')] });
    const ask = () => harness.complete({ ...streamed, model: 'shrinking' });
    const running = await ask();
    const [left, stays] = called[0] === pathOf('one') ? ['one', 'other'] : ['other', 'one'];
    harness.runner.update({ modelId, replicas: [at(stays)] });
    await eventually(() => harness.gateway.catalog.get(modelId)?.replicas.length === 1);
    // All of them run at once, so two replicas would share them.
    const later = [await ask(), await ask(), await ask()];
    expect(called).toEqual([pathOf(left), ...Array(3).fill(pathOf(stays))]);
    expect(settled()).toEqual([]);
    finish();
    for (const [i, response] of [running, ...later].entries()) {
      const events = eventsOf(await response.text());
      expect([contentOf(events), events.at(-1)]).toEqual([`${called[i]}.`, '[DONE]']);
    }
    expect(settled()).toEqual(
      Array(4).fill(expect.objectContaining({ answered: true, usageValid: true, completionTokens: 2 })),
    );
    harness.runner.remove(modelId);
  });

  it('has one time limit for its first event, even when a second replica is tried', async () => {
    const own = await start({ FIRST_EVENT_TIMEOUT_MS: '54321' });
    const at = (path: string) => ({ replicaId: path, baseUrl: `${own.model.url}/${path}` });
    await own.publish({ name: 'two', replicas: [at('one'), at('other')] });
    const heldMs = 100;
    let tries = 0;
    script = async (_request, reply) => {
      if (++tries === 1) {
        await new Promise((resolve) => setTimeout(resolve, heldMs));
        return reply.reset();
      }
      await reply.event(piece('Hi', 'stop'));
      await reply.done();
    };
    const timers = jest.spyOn(globalThis, 'setTimeout');
    const response = await own.complete({ ...streamed, model: 'two' });
    expect(contentOf(eventsOf(await response.text()))).toBe('Hi');
    // No other timers run as long as those for the first event.
    const [first = 0, second = 0] = timers.mock.calls
      .map(([, ms = 0]) => ms)
      .filter((ms) => ms > 50_000 && ms <= 54_321);
    timers.mockRestore();
    // A timer may fire a little early by this clock.
    expect(first - second).toBeGreaterThan(heldMs - 5);
    await own.stop();
  });

  it('gets a usage chunk without usage when the model reports none [completions.stream.usage]', async () => {
    script = async (_request, reply) => {
      await reply.event(piece('Hi', 'stop'));
      await reply.done();
    };
    const events = eventsOf(await (await harness.complete(withUsage)).text());
    expect(contentOf(events)).toBe('Hi');
    expect(events.slice(-2)).toEqual([expect.objectContaining({ choices: [], usage: null }), '[DONE]']);
    expect(settled()).toEqual([expect.objectContaining({ answered: true, usageValid: false })]);
  });
});

describe('an error before the answer starts [completions.stream.errors-before]', () => {
  it.each<[string, UpstreamHandler, number, string, (() => Harness)?]>([
    [
      'an error event',
      (_, reply) => reply.event({ error: { message: 'too long', code: 400 } }),
      400,
      'model_refused',
    ],
    ['a failure', (_, reply) => reply.event({ error: { message: 'oom' } }), 502, 'upstream_error'],
    ['no stream at all', (_, reply) => reply.end(), 502, 'upstream_error'],
    ['[DONE] without an answer', (_, reply) => reply.done(), 502, 'upstream_error'],
    ['garbage', (_, reply) => reply.write('data: {"cho\n\n').then(() => reply.end()), 502, 'upstream_error'],
    ['silence', (_, reply) => reply.closed, 502, 'upstream_error', () => impatientForTheFirst],
    ['silence after the head', silentAfterHead, 502, 'upstream_error', () => impatientForTheFirst],
    ['keep-alives only', keepAlive, 502, 'upstream_error', () => impatientForTheFirst],
  ])('is a normal JSON error: %s', async (_name, upstream, status, code, through = () => harness) => {
    script = upstream;
    const response = await through().complete(streamed);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: { code } });
    expect(settled(through())).toEqual([expect.objectContaining({ answered: false, errorCode: code })]);
  });
});

function silentAfterHead(...[, reply]: Parameters<UpstreamHandler>): Promise<void> {
  reply.start();
  return reply.closed;
}

const keepAliveLoop = async (closed: Promise<void>, write: (text: string) => Promise<void>) => {
  let open = true;
  void closed.then(() => {
    open = false;
  });
  while (open) {
    await write(': ping\n\n');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};

async function keepAlive(...[, reply]: Parameters<UpstreamHandler>): Promise<void> {
  await keepAliveLoop(reply.closed, (text) => reply.write(text));
}

describe('a stream that cannot be completed', () => {
  const begin: UpstreamHandler = (_request, reply) => reply.event(piece('Hi'));
  const endless: UpstreamHandler = async (request, reply) => {
    let open = true;
    void reply.closed.then(() => {
      open = false;
    });
    for (await begin(request, reply); open; ) {
      await reply.event(piece('x'));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };

  it.each(['always_on', 'wake_on_request'] as const)(
    'breaks off without [DONE], as an error: the stream of a model that is %s takes too long [completions.stream.incomplete-counted]',
    async (mode) => {
      script = endless;
      const replicas = [{ replicaId: 'r', baseUrl: `${harness.model.url}/v1` }];
      const { modelId } = await harness.publish({ name: 'endless', mode, replicas });
      const timers = jest.spyOn(globalThis, 'setTimeout');
      const response = await harness.complete({ ...streamed, model: 'endless' });
      const limits = timers.mock.calls.filter(([, ms = 0]) => ms > MAX_MS.wake_on_request / 2);
      timers.mockRestore();
      expect([response.status, limits.length]).toEqual([200, 1]);
      const [over, ms = 0] = limits[0] ?? [];
      // A little of the time has passed before the call.
      expect(ms).toBeLessThanOrEqual(MAX_MS[mode]);
      expect(ms).toBeGreaterThan(MAX_MS[mode] - 1_000_000);
      over?.();
      const events = await brokenOff(response);
      expect(events.at(-1)).not.toBe('[DONE]');
      expect(contentOf(events)).toMatch(/^Hi/);
      expect(settled()).toEqual([
        expect.objectContaining({ answered: false, usageValid: false, errorCode: 'stream_limit' }),
      ]);
      await eventually(() => harness.model.inFlight === 0);
      harness.runner.remove(modelId);
    },
  );

  it.each<[string, UpstreamHandler, string, (() => Harness)?]>([
    ['the model breaks the connection', (_, reply) => reply.reset(), 'upstream_error'],
    ['the model stops without a finish reason', (_, reply) => reply.done(), 'upstream_error'],
    ['the model sends an error', (_, reply) => reply.event({ error: 'x' }), 'upstream_error'],
    [
      'the model pauses too long [limit.stream.pause]',
      (_, reply) => reply.closed,
      'stream_limit',
      () => impatientForTheRest,
    ],
    ['the model sends keep-alives only', keepAlive, 'stream_limit', () => impatientForTheRest],
    ['an event is over 1 MiB', (_, reply) => reply.event(piece('x'.repeat(1024 * 1024))), 'stream_limit'],
    [
      'the stream is over 8 MiB',
      async (_, reply) => {
        for (let i = 0; i < 17; i++) await reply.event(piece('x'.repeat(512 * 1024)));
      },
      'stream_limit',
    ],
  ])(
    'breaks off without [DONE], as an error: %s [completions.stream.incomplete-counted]',
    async (_name, then, errorCode, through = () => harness) => {
      script = async (request, reply) => {
        await begin(request, reply);
        await then(request, reply);
      };
      const response = await through().complete(streamed);
      expect(response.status).toBe(200);
      const events = await brokenOff(response);
      expect(events.at(-1)).not.toBe('[DONE]');
      expect(contentOf(events)).toMatch(/^Hi/);
      expect(settled(through())).toEqual([
        expect.objectContaining({ answered: false, usageValid: false, errorCode }),
      ]);
      await eventually(() => through().model.inFlight === 0);
    },
  );

  it('is ended by a lost lease, and the gateway sends no settlement for it', async () => {
    script = async (request, reply) => {
      await endless(request, reply);
    };
    const response = await harness.complete(streamed);
    const broken = brokenOff(response);
    const { answers } = harness.limiterServer;
    const { heartbeat } = answers;
    const lost = harness.limiter.admissionHandle('org', 'x').instanceId;
    answers.heartbeat = (call) => ({ heartbeat: { leaseLost: call.heartbeat?.instanceId === lost } });
    const events = await broken;
    expect(contentOf(events)).toMatch(/^Hi/);
    expect(events.at(-1)).not.toBe('[DONE]');
    expect(settled()).toEqual([]);
    expect(harness.limiter.admissionHandle('org', 'x').instanceId).not.toBe(lost);
    answers.heartbeat = heartbeat;
    await eventually(() => harness.limiter.ready);
  });
});
