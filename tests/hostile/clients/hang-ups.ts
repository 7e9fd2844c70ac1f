import { once } from 'node:events';
import type { AddressInfo, Server, Socket } from 'node:net';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@tidegate/testing';
import fc from 'fast-check';
import { call } from '../../support/http.ts';
import { ask, newKey } from '../../support/org.ts';
import { ctl, usageOf } from '../../support/stack.ts';
import { CONTEXT, request, text, USAGE, type World } from './world.ts';

interface Around {
  readonly silent: Server;
  /** Whether the key's only slot is in use. */
  readonly slotIsTaken: () => Promise<boolean>;
  /** Resolves when the model has been asked this once more. */
  readonly heard: (content: string) => Promise<unknown>;
}

interface Phase {
  readonly counts: 'nothing' | 'an error' | 'an answer' | 'an error or nothing';
  readonly body: (around: Around) => string;
  /** The part of the request that is cut off. Default: the whole request is sent. */
  readonly sent?: 'head' | 'body';
  /** Resolves when the request has reached the phase in which the client hangs up. */
  readonly reached?: (socket: Socket, around: Around) => Promise<unknown>;
}

const received = (socket: Socket, part: string) =>
  new Promise<void>((resolve) => {
    let all = '';
    socket.on('data', (bytes) => {
      all += bytes;
      if (all.includes(part)) resolve();
    });
  });

const picture = (port: number) => {
  const part = { type: 'image_url', image_url: { url: `https://127.0.0.1:${port}/a.png` } };
  return JSON.stringify({ model: 'eyes', messages: [{ role: 'user', content: [part] }] });
};

const streamed = { stream: true };
const PHASES: Record<string, Phase> = {
  'in its headers': { counts: 'nothing', body: () => text('Hi'), sent: 'head' },
  'in its body': { counts: 'nothing', body: () => text('Hi'), sent: 'body' },
  'as soon as it has sent all': { counts: 'an error or nothing', body: () => text('wait') },
  'while its image is waited for': {
    counts: 'nothing',
    body: ({ silent }) => picture((silent.address() as AddressInfo).port),
    reached: (_socket, { silent }) => once(silent, 'connection'),
  },
  'while its model wakes': {
    counts: 'nothing',
    body: () => JSON.stringify(ask('sleeper', 'Hi')),
    reached: (_socket, { slotIsTaken }) => eventually(slotIsTaken),
  },
  'before the first byte of a whole answer': {
    counts: 'an error',
    body: () => text('wait'),
    reached: (_socket, { heard }) => heard('wait'),
  },
  'before the first byte of a stream': {
    counts: 'an error',
    body: () => text('wait', streamed),
    reached: (_socket, { heard }) => heard('wait'),
  },
  'in the middle of a stream': {
    counts: 'an error',
    body: () => text('begin', streamed),
    reached: (socket) => received(socket, '"a"'),
  },
  'after [DONE]': {
    counts: 'an answer',
    body: () => text('all', streamed),
    reached: (socket) => received(socket, '[DONE]'),
  },
};
const WAYS: Record<string, (socket: Socket) => void> = {
  closes: (socket) => socket.destroy(),
  resets: (socket) => socket.resetAndDestroy(),
  'closes its half, then the other': (socket) => {
    socket.end();
    socket.destroySoon();
  },
};
const RUNS = 40;

/** Cuts one part of a request at `cut`, a fraction from 0 to 1. Returns what is sent. */
function cutOff(bytes: string, sent: Phase['sent'], cut: number): string {
  if (!sent) return bytes;
  const headEnd = bytes.indexOf('\r\n\r\n') + 4;
  const [least, most] = sent === 'head' ? [0, headEnd - 1] : [headEnd, bytes.length - 1];
  return bytes.slice(0, Math.floor(least + cut * (most - least)));
}

export function describeHangUps(world: World): void {
  const { stack, base, silent, connection, asked, modelInFlight } = world;
  /** Starts with the two answers that came while newOrgWithModels waited for its models. */
  const counted = { answers: 2, errors: 0, either: 0 };
  let org: string;
  /** A key that allows one request at once. */
  let single: string;

  async function slotIsTaken(): Promise<boolean> {
    const { code } = await call(base(), { key: single, body: ask('tide', 'probe') });
    if (code === undefined) counted.answers++;
    return code === 'rate_limit_exceeded';
  }

  async function hangUp(phase: Phase, way: string, cut: number): Promise<void> {
    const { counts, body, sent, reached } = phase;
    const before = asked('wait');
    const heard = (content: string) => eventually(() => asked(content) > before);
    const around = { silent, slotIsTaken, heard };
    const socket = await connection();
    const there = reached?.(socket, around);
    socket.write(cutOff(request(single, body(around)), sent, cut));
    await there;
    WAYS[way]?.(socket);
    if (counts === 'an error') counted.errors++;
    if (counts === 'an answer') counted.answers++;
    if (counts === 'an error or nothing') counted.either++;
    await eventually(async () => !(await slotIsTaken()));
    await eventually(() => modelInFlight() === 0);
  }

  describe('a client that hangs up, at any moment and in any way', () => {
    beforeAll(async () => {
      ({ org } = await world.newOrgWithModels());
      const sleeper = ['--name', 'sleeper', '--kind', 'text', '--mode', 'wake_on_request'];
      const command = ['--context', String(CONTEXT), '--command', 'exec sleep 1000'];
      await ctl(stack(), 'model', 'publish', '--org', org, ...sleeper, ...command);
      single = (await newKey(stack(), org, { atOnce: 1 })).key;
    });

    it('frees its slot and ends the work of the model', async () => {
      const phases = fc.constantFrom(...Object.keys(PHASES));
      const ways = fc.constantFrom(...Object.keys(WAYS));
      const cuts = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
      await fc.assert(
        fc.asyncProperty(phases, ways, cuts, (phase, way, cut) => hangUp(PHASES[phase] as Phase, way, cut)),
        { numRuns: RUNS, endOnFailure: true },
      );
    });

    it('counts as an error at the full price from the reservation on, as nothing before, and as answered after [DONE] [metered.counted] [plan.settlement.interrupted]', async () => {
      await eventually(async () => {
        const { totals, month } = await usageOf(stack(), org);
        expect(totals.requests - totals.errors).toBe(counted.answers);
        expect(totals.errors).toBeGreaterThanOrEqual(counted.errors);
        expect(totals.errors).toBeLessThanOrEqual(counted.errors + counted.either);
        expect(totals.reservedTokens).toBe(totals.errors * CONTEXT);
        expect(totals.promptTokens + totals.completionTokens).toBe(counted.answers * USAGE.total_tokens);
        expect(month.tokens.reserved).toBe(0);
        expect(month.tokens.charged).toBe(totals.reservedTokens + counted.answers * USAGE.total_tokens);
        return true;
      });
    });
  });
}
