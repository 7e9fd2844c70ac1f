import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@tidegate/testing';
import fc from 'fast-check';
import { usageOf, useSharedStack } from '../support/stack.ts';
import { ANSWER, whole } from './models/bytes.ts';
import { type Case, type Counts, says } from './models/cases/case.ts';
import { CHUNKS, WHOLES } from './models/cases/content.ts';
import { ENDS_EARLY, NO_ANSWERS } from './models/cases/early.ts';
import { BROKEN_HTTP, EVENTS, HTTP } from './models/cases/framing.ts';
import { BREAKS, STREAM_PAUSE_MS, TIMES } from './models/cases/limits.ts';
import { DIALECTS, IN_BAND, STATUSES } from './models/cases/refusals.ts';
import { SIZES } from './models/cases/sizes.ts';
import {
  anyAnswer,
  cutEverywhere,
  STREAM_BYTES,
  STREAM_SEEN,
  WHOLE_BYTES,
  WHOLE_SEEN,
} from './models/cases/splits.ts';
import { USAGES } from './models/cases/usages.ts';
import { countsOf, expectCounted, expectSeen, totalsOf } from './models/expectations.ts';
import {
  ask,
  idOf,
  MODEL,
  type Performance,
  perform,
  titleOf,
  WELL_BEHAVED,
  withEverySlot,
} from './models/perform.ts';
import { HostileModel, type Play } from './models/server.ts';
import { CONTEXT_TOKENS, type Row, SLOTS, World } from './models/world.ts';

const stack = useSharedStack();
/**
 * The same, with the contract's time-outs shortened, but longer than a busy machine stands still.
 * Tests beside the gateway's config prove their defaults.
 */
const impatient = useSharedStack({
  WHOLE_ANSWER_TIMEOUT_MS: '7000',
  FIRST_EVENT_TIMEOUT_MS: '7000',
  STREAM_PAUSE_MS: String(STREAM_PAUSE_MS),
  STREAM_MAX_ALWAYS_ON_MS: '16000',
});
const GROUPS: Readonly<Record<string, readonly Case[]>> = {
  'a stream of odd events': EVENTS,
  'an answer in odd HTTP': HTTP,
  'broken HTTP': BROKEN_HTTP,
  'reported usage': USAGES,
  'a stream of odd chunks': CHUNKS,
  'an odd whole answer': WHOLES,
  'no answer at all [errors.upstream_error]': NO_ANSWERS,
  'a stream that ends too early [completions.stream.incomplete]': ENDS_EARLY,
  'a context-length error [errors.model_refused] [message.context]': DIALECTS,
  'a status other than 200': STATUSES,
  'an error inside an answer': IN_BAND,
  'the limits of size': SIZES,
  'the limits of time': TIMES,
  'a connection that breaks': BREAKS,
};
const CASES = Object.values(GROUPS).flat();

const COUNTED = { prompt: 5, completion: 2 };
const TWIN = 'twin';
const GONE = 'gone';
const aKey = () => world.keys[0] as string;
/** How all requests so far must be counted. */
const counted: Counts[] = [];

let world: World;
let model: HostileModel;
let twin: HostileModel;
let gone: HostileModel;
let performances: Map<Case, Performance>;
let rows: Map<string, Row>;

beforeAll(async () => {
  [model, twin, gone] = (await Promise.all([1, 2, 3].map(() => HostileModel.start()))) as [
    HostileModel,
    HostileModel,
    HostileModel,
  ];
  model.stage(WELL_BEHAVED, says(whole(ANSWER)));
  world = new World(stack());
  await world.setUp();
  await world.publish(MODEL, [model.url]);
  await world.publish(TWIN, [model.url, twin.url]);
  await world.publish(GONE, [gone.url]);
  await eventually(async () => (await ask(world, aKey(), WELL_BEHAVED, false)).status === 200);
  const small = CASES.filter((task) => !SIZES.includes(task));
  performances = await perform(world, model, small, { forSlow: impatient().info });
  // Two at a time. The model, the client and the comparison of many megabytes share one process.
  for (const [task, played] of await perform(world, model, SIZES, { slots: 2 }))
    performances.set(task, played);
  counted.push(COUNTED, ...countsOf(CASES), ...CASES.map(() => COUNTED));
  rows = await world.rows(counted.length);
});
afterAll(async () => {
  await world?.close();
  await Promise.all([model, twin, gone].map((server) => server?.close()));
});

it('the plays have names of their own', () => {
  expect(new Set(CASES.map(titleOf)).size).toBe(CASES.length);
});

describe.each(Object.entries(GROUPS))('%s', (_group, cases) => {
  it.each(cases.map((task) => [titleOf(task), task] as const))('%s', async (title, task) => {
    const { answer, calls, connection, kept, next, reservationId } = performances.get(task) as Performance;
    expectSeen(answer, task.sees);
    expectCounted(rows.get(reservationId), task.counts);
    expect({ calls, next }).toEqual({ calls: 1, next: 200 });
    if (task.connection === 'kept') expect(kept).toBe(true);
    else {
      await eventually(() => connection.closed);
      expect(connection.plays.at(-1)).toBe(title);
    }
  });
});

describe('an answer cut in two', () => {
  it.each([
    ['streamed', STREAM_BYTES, STREAM_SEEN],
    ['whole', WHOLE_BYTES, WHOLE_SEEN],
  ] as const)('at any byte arrives the same: %s', async (name, bytes, seen) => {
    model.stage(name, cutEverywhere(bytes));
    const cuts = Array.from({ length: bytes.length - 1 }, () => COUNTED);
    counted.push(...cuts);
    await withEverySlot(world, cuts, async (_cut, key) => {
      expectSeen(await ask(world, key, name, seen.kind === 'stream'), seen);
    });
    expect(model.calls(name)).toBe(cuts.length);
  });
});

describe('any text', () => {
  it('in any pieces, wrapped in any events and cut anywhere, arrives as it was', async () => {
    const property = fc.asyncProperty(anyAnswer, async ({ play, seen }) => {
      model.stage('any', play);
      counted.push(COUNTED);
      expectSeen(await ask(world, aKey(), 'any', true), seen);
    });
    await fc.assert(property, { numRuns: 80 });
  });
});

describe('a model with two replicas', () => {
  const play = async (name: string, first: Play, second: Play, counts: Counts) => {
    const plays = [first, second];
    for (const server of [model, twin])
      server.stage(name, async (wire) => await (plays.shift() ?? second)(wire));
    counted.push(counts);
    const answer = await ask(world, aKey(), name, false, TWIN);
    return [answer.status, model.calls(name), twin.calls(name)];
  };
  const right = says(whole(ANSWER));
  const reset: Play = async (wire) => wire.reset();

  it('is asked once more, at the other one, when nothing was answered: one request, counted once', async () => {
    expect(await play('twin: reset', reset, right, COUNTED)).toEqual([200, 1, 1]);
    expect(await play('twin: two resets', reset, reset, { error: 'upstream_error' })).toEqual([502, 1, 1]);
  });

  it('is not asked again once it has begun to answer', async () => {
    const broken = says(whole(ANSWER, { status: '500 Internal Server Error' }));
    const [status, ...calls] = await play('twin: 500', broken, right, { error: 'upstream_error' });
    expect([status, calls.sort()]).toEqual([502, [0, 1]]);
  });
});

describe('a model that cannot be connected to', () => {
  it('is not available, and clients are told not to retry; the request is counted', async () => {
    await gone.close();
    counted.push({ error: 'model_unavailable' });
    const answer = await ask(world, aKey(), 'gone', false, GONE);
    expect([answer.status, answer.code]).toEqual([503, 'model_unavailable']);
    expect(answer.headers).toMatchObject({ 'x-should-retry': 'false' });
    expect((await world.rows(counted.length)).get(idOf(answer))).toMatchObject({
      errorCode: 'model_unavailable',
      chargedTokens: CONTEXT_TOKENS,
    });
  });
});

describe('after all of this', () => {
  it('every slot of the organization is free', async () => {
    let here = 0;
    let allHere = () => {};
    const all = new Promise<void>((resolve) => {
      allHere = resolve;
    });
    model.stage('together', async (wire) => {
      if (++here === SLOTS) allHere();
      await all;
      await wire.write(whole(ANSWER));
    });
    counted.push(...world.keys.map(() => COUNTED));
    const answers = await Promise.all(world.keys.map((key) => ask(world, key, 'together', false)));
    expect(answers.map(({ status }) => status)).toEqual(world.keys.map(() => 200));
  });

  it('the usage is the sum of what each request counted as', async () => {
    await world.rows(counted.length);
    expect((await usageOf(stack(), world.org)).totals).toMatchObject(totalsOf(counted));
  });

  it('the gateway keeps no connection to a model', async () => {
    const open = () =>
      [model, twin].flatMap(({ connections }) => connections).filter(({ closed }) => !closed);
    await eventually(() => open().length === 0, { intervalMs: 250 });
  });
});
