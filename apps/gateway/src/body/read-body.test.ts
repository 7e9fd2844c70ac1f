import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { newRefusal, PASSED, type Passed, type Refusal } from '@tidegate/contracts';
import { eventually } from '@tidegate/testing';
import { MovedPieces, receiveMoved } from '../bytes/moved-pieces.ts';
import { type EarlyEnd, endsEarly } from '../ending.ts';
import { type Body, type ReadBodyOptions, readBody } from './read-body.ts';

const NO_SLOT = newRefusal({
  code: 'rate_limit_exceeded',
  cause: 'large_bodies',
  message: 'Too many.',
  retryAfterS: 1,
});

interface Harness {
  readonly server: Server;
  readonly read: Promise<Body | EarlyEnd>;
  readonly socket: Socket;
}

const open: Harness[] = [];

/**
 * A server that reads each body and answers with its length, or with 400. `read` is the first body,
 * `socket` the client's raw connection. With `late`, the server starts to read only after
 * everything that came with the head has been buffered, including the end of the body.
 */
async function start({
  late,
  ...options
}: Partial<ReadBodyOptions> & { late?: boolean } = {}): Promise<Harness> {
  let settle: (read: Promise<Body | EarlyEnd>) => void = () => {};
  const read = new Promise<Body | EarlyEnd>((resolve) => {
    settle = resolve;
  });
  const server = createServer(async (request, response) => {
    if (late) await new Promise(setImmediate);
    const reading = readBody(request, {
      invite: () => {},
      timeoutMs: 600_000,
      maxBytes: 1_000,
      largeBytes: 100,
      takeLarge: async () => PASSED,
      claim: () => PASSED,
      turn: () => null,
      signal: () => new AbortController().signal,
      ...options,
    });
    settle(reading);
    reading.then(
      (result) =>
        endsEarly(result)
          ? response.writeHead(400).end('refused')
          : response.writeHead(200).end(`${result.bytes}`),
      () => response.writeHead(500).end(),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => {});
  const harness = { server, read, socket };
  open.push(harness);
  return harness;
}

afterEach(() => {
  for (const { server, socket } of open.splice(0)) {
    socket.destroy();
    server.close();
    server.closeAllConnections();
  }
});

const head = (...lines: string[]): string => ['POST / HTTP/1.1', 'Host: x', ...lines, '', ''].join('\r\n');
const declared = (bytes: number, ...lines: string[]): string => head(`Content-Length: ${bytes}`, ...lines);
const CHUNKED = head('Transfer-Encoding: chunked');
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

const codeOf = async (read: Promise<Body | EarlyEnd>): Promise<string> => {
  const result = await read;
  if (!endsEarly(result)) return 'ok';
  return result.kind === 'aborted' ? 'aborted' : result.code;
};

const textOf = async (read: Promise<Body | EarlyEnd>): Promise<string> => {
  const result = await read;
  if (endsEarly(result)) return JSON.stringify(result);
  const { pieces, bytes } = result;
  const whole = pieces instanceof MovedPieces ? receiveMoved(pieces.port, bytes) : Buffer.concat(pieces);
  return whole.toString();
};

describe('readBody', () => {
  it('returns the body, of declared length or in chunks', async () => {
    const first = await start();
    first.socket.write(`${declared(5)}he`);
    first.socket.write('llo');
    expect(await textOf(first.read)).toBe('hello');

    const second = await start();
    second.socket.write(`${CHUNKED}${chunk('hel')}`);
    second.socket.write(`${chunk('lo')}0\r\n\r\n`);
    expect(await textOf(second.read)).toBe('hello');
  });

  it('joins one-byte chunks as they arrive, and never keeps thousands of buffers', async () => {
    const concat = jest.spyOn(Buffer, 'concat');
    try {
      const text = Array.from({ length: 10_000 }, (_, i) => String(i % 10)).join('');
      const { socket, read } = await start({ maxBytes: 10_000, largeBytes: 10_000 });
      socket.write(`${CHUNKED}${[...text].map(chunk).join('')}0\r\n\r\n`);
      expect(await textOf(read)).toBe(text);
      expect(Math.max(...concat.mock.calls.map(([pieces]) => pieces.length))).toBeLessThanOrEqual(200);
    } finally {
      concat.mockRestore();
    }
  });

  it('returns a body that arrived with its headers without waiting, and keeps the connection for the next request', async () => {
    const claimed: number[] = [];
    const { socket, read } = await start({
      late: true,
      claim: (bytes) => {
        claimed.push(bytes);
        return PASSED;
      },
      signal: () => {
        throw new Error('there is nothing to wait for');
      },
    });
    let answers = '';
    socket.on('data', (bytes) => {
      answers += bytes;
    });
    socket.write(`${declared(5)}hello`);
    expect(await textOf(read)).toBe('hello');
    await eventually(() => answers.endsWith('5\r\n0\r\n\r\n'));
    socket.write(`${declared(3)}you`);
    await eventually(() => answers.endsWith('3\r\n0\r\n\r\n'));
    expect(claimed).toEqual([5, 3]);
  });

  it('refuses a body that arrived with its headers if it may not claim the memory', async () => {
    const { socket, read } = await start({ late: true, claim: () => NO_SLOT });
    socket.write(`${declared(5)}hello`);
    expect(await read).toEqual(NO_SLOT);
  });

  it('returns an empty body if none was sent', async () => {
    const { socket, read } = await start();
    socket.write(head());
    expect(await textOf(read)).toBe('');
  });

  it('accepts a body of exactly the maximum', async () => {
    const { socket, read } = await start();
    socket.write(declared(1_000) + 'x'.repeat(1_000));
    expect(await textOf(read)).toHaveLength(1_000);
  });

  it('refuses a declared length over the maximum before any of the body arrives', async () => {
    let asked = 0;
    const { socket, read } = await start({
      takeLarge: async () => {
        asked++;
        return PASSED;
      },
    });
    socket.write(declared(1_001));
    const result = await read;
    expect(result).toMatchObject({ code: 'request_too_large' });
    expect(asked).toBe(0);
  });

  it('refuses a body in chunks as soon as it passes the maximum', async () => {
    const { socket, read } = await start();
    socket.write(CHUNKED + chunk('x'.repeat(1_001)));
    expect(await codeOf(read)).toBe('request_too_large');
  });

  it('counts a small piece as 256 bytes in its turn, because each piece takes time', async () => {
    const counted: number[] = [];
    const turn = (bytes: number) => {
      counted.push(bytes);
      return null;
    };
    const { socket, read } = await start({ largeBytes: 1_000, turn });
    socket.write(`${CHUNKED}${['x', 'x'.repeat(300), 'x'].map(chunk).join('')}0\r\n\r\n`);
    expect(await textOf(read)).toHaveLength(302);
    expect(counted).toEqual([256, 300, 256]);
  });

  it('reads on only in its turn, and not before it has its large-body slot', async () => {
    const turns: (() => void)[] = [];
    let giveSlot: () => void = () => {};
    const { socket, read } = await start({
      largeBytes: 4,
      turn: () => new Promise((resolve) => turns.push(resolve)),
      takeLarge: () =>
        new Promise((resolve) => {
          giveSlot = () => resolve(PASSED);
        }),
    });
    socket.write(`${CHUNKED}${['one', 'two', 'six'].map(chunk).join('')}0\r\n\r\n`);
    const settle = async () => {
      for (let i = 0; i < 10; i++) await new Promise(setImmediate);
    };
    await eventually(() => turns.length === 1);
    await settle();
    expect(turns.length).toBe(1);
    turns[0]?.();
    await eventually(() => turns.length === 2);
    turns[1]?.();
    await settle();
    expect(turns.length).toBe(2);
    giveSlot();
    await eventually(() => turns.length === 3);
    turns[2]?.();
    expect(await textOf(read)).toBe('onetwosix');
  });

  it('invites a body if its head gives no reason to refuse it, and a large one only once it has its slot', async () => {
    const steps: string[] = [];
    const invite = () => void steps.push('invite');
    const giving = (slot: Passed | Refusal) => async () => {
      steps.push('slot');
      return slot;
    };
    for (const refused of [declared(1_001), declared(500), declared(5, 'Content-Encoding: gzip')]) {
      const { socket, read } = await start({ invite, takeLarge: giving(NO_SLOT) });
      socket.write(refused);
      expect(endsEarly(await read)).toBe(true);
    }
    expect(steps.splice(0)).toEqual(['slot']);
    const small = await start({ invite });
    small.socket.write(declared(5));
    await eventually(() => steps.length === 1);
    small.socket.write('hello');
    expect(await textOf(small.read)).toBe('hello');
    const large = await start({ invite, takeLarge: giving(PASSED) });
    large.socket.write(declared(500));
    await eventually(() => steps.length === 3);
    large.socket.write('x'.repeat(500));
    expect(await textOf(large.read)).toHaveLength(500);
    expect(steps).toEqual(['invite', 'slot', 'invite']);
  });

  it('claims memory for each piece before it keeps it, and stops when a claim is refused', async () => {
    const claimed: number[] = [];
    const claim = (bytes: number) => {
      claimed.push(bytes);
      return claimed.length === 2 ? NO_SLOT : PASSED;
    };
    const { socket, read } = await start({ claim });
    socket.write(CHUNKED + chunk('abc') + chunk('defg'));
    expect(await read).toEqual(NO_SLOT);
    expect(claimed).toEqual([3, 4]);
  });

  it('leaves the rest of a refused body unread for the code that answers', async () => {
    const { socket, read, server } = await start();
    const request = once(server, 'request');
    socket.write(CHUNKED + chunk('x'.repeat(1_001)));
    expect(await codeOf(read)).toBe('request_too_large');
    const [incoming] = await request;
    expect(incoming.listenerCount('data')).toBe(0);
    expect(incoming.isPaused()).toBe(true);
  });

  it('refuses a body that is not complete in time, however steadily it arrives', async () => {
    const { socket, read } = await start({ timeoutMs: 200 });
    socket.write(declared(900));
    const drip = setInterval(() => socket.write('x'), 20);
    try {
      expect(await codeOf(read)).toBe('request_timeout');
    } finally {
      clearInterval(drip);
    }
  });

  it.each(['gzip', 'deflate', 'br', 'GZIP', 'identity, gzip'])(
    'refuses Content-Encoding %s, and names the header',
    async (encoding) => {
      const { socket, read } = await start();
      socket.write(declared(5, `Content-Encoding: ${encoding}`));
      const result = await read;
      expect(result).toMatchObject({
        code: 'invalid_request',
        message: expect.stringContaining('Content-Encoding'),
      });
    },
  );

  it.each(['gzip, chunked', 'identity, chunked', ', chunked'])(
    'refuses Transfer-Encoding %s, and names the header',
    async (encoding) => {
      const { socket, read } = await start();
      socket.write(`${head(`Transfer-Encoding: ${encoding}`)}${chunk('hello')}0\r\n\r\n`);
      expect(await read).toMatchObject({
        code: 'invalid_request',
        message: expect.stringContaining('Transfer-Encoding'),
      });
    },
  );

  it('accepts Transfer-Encoding chunked in any letter case', async () => {
    const { socket, read } = await start();
    socket.write(`${head('Transfer-Encoding: CHUNKED')}${chunk('hello')}0\r\n\r\n`);
    expect(await textOf(read)).toBe('hello');
  });

  it('accepts Content-Encoding identity', async () => {
    const { socket, read } = await start();
    socket.write(`${declared(2, 'Content-Encoding: Identity')}ok`);
    expect(await textOf(read)).toBe('ok');
  });

  it('distinguishes a client that hung up mid-body from a refusal', async () => {
    const { socket, read } = await start();
    socket.write(`${declared(10)}half`, () => socket.destroy());
    expect(await codeOf(read)).toBe('aborted');
  });

  it('distinguishes a client that closed its half mid-body from a refusal', async () => {
    const { socket, read } = await start();
    socket.end(`${CHUNKED}${chunk('half')}`);
    expect(await codeOf(read)).toBe('aborted');
  });

  it('stops when its signal aborts', async () => {
    const controller = new AbortController();
    const { socket, read, server } = await start({ signal: () => controller.signal });
    socket.write(declared(10));
    await once(server, 'request');
    controller.abort();
    expect(await codeOf(read)).toBe('aborted');
  });

  describe('a large body', () => {
    /** A `takeLarge` that counts its calls and waits for the test to supply the answer. */
    function slots() {
      let answer: (slot: Passed | Refusal) => void = () => {};
      let asked: () => void = () => {};
      const wasAsked = new Promise<void>((resolve) => {
        asked = resolve;
      });
      const state = { times: 0, wasAsked, answer: (slot: Passed | Refusal) => answer(slot) };
      const takeLarge = (): Promise<Passed | Refusal> => {
        state.times++;
        asked();
        return new Promise((resolve) => {
          answer = resolve;
        });
      };
      return { state, takeLarge };
    }

    it('takes its slot once, before it is read, if its length is declared', async () => {
      const { state, takeLarge } = slots();
      const { socket, read, server } = await start({ takeLarge });
      const request = once(server, 'request');
      socket.write(declared(500));
      await state.wasAsked;
      socket.write('x'.repeat(500));
      const [incoming] = await request;
      expect(incoming.isPaused()).toBe(true);
      state.answer(PASSED);
      expect(await textOf(read)).toHaveLength(500);
      expect(state.times).toBe(1);
    });

    it('takes its slot when more than the limit has arrived in chunks', async () => {
      const { state, takeLarge } = slots();
      const { socket, read } = await start({ takeLarge });
      socket.write(CHUNKED + chunk('x'.repeat(100)) + chunk('y') + chunk('z'.repeat(300)));
      await state.wasAsked;
      state.answer(PASSED);
      socket.write('0\r\n\r\n');
      expect(await textOf(read)).toHaveLength(401);
      expect(state.times).toBe(1);
    });

    it('takes no slot at exactly the limit', async () => {
      const { state, takeLarge } = slots();
      const { socket, read } = await start({ takeLarge });
      socket.write(declared(100) + 'x'.repeat(100));
      expect(await textOf(read)).toHaveLength(100);
      expect(state.times).toBe(0);
    });

    it('is refused as takeLarge says', async () => {
      const declaredOne = await start({ takeLarge: async () => NO_SLOT });
      declaredOne.socket.write(declared(500));
      expect(await declaredOne.read).toEqual(NO_SLOT);
      const chunked = await start({ takeLarge: async () => NO_SLOT });
      chunked.socket.write(CHUNKED + chunk('x'.repeat(101)));
      expect(await chunked.read).toEqual(NO_SLOT);
    });

    it('is refused even if its last piece was the one that made it large', async () => {
      const { state, takeLarge } = slots();
      const { socket, read, server } = await start({ late: true, takeLarge });
      const request = once(server, 'request');
      socket.write(`${CHUNKED}${chunk('x'.repeat(101))}0\r\n\r\n`);
      const [incoming] = await request;
      await eventually(() => incoming.readableEnded);
      state.answer(NO_SLOT);
      expect(await read).toEqual(NO_SLOT);
    });

    it('leaves the heap of this thread while it arrives', async () => {
      const bytes = 32 * 2 ** 20;
      const sent = Buffer.alloc(bytes);
      const before = process.memoryUsage().external;
      let most = 0;
      let turns = 0;
      const turn = () => {
        turns++;
        most = Math.max(most, process.memoryUsage().external - before);
        return null;
      };
      const { socket, read } = await start({ maxBytes: bytes, largeBytes: 2 ** 20, turn });
      socket.write(declared(bytes));
      socket.write(sent);
      const result = await read;
      if (endsEarly(result) || !(result.pieces instanceof MovedPieces)) throw new Error('not moved');
      expect(receiveMoved(result.pieces.port, bytes).equals(sent)).toBe(true);
      expect(turns).toBeGreaterThan(100);
      expect(most).toBeLessThan(bytes / 4);
    });

    it('is discarded if it is refused, if its slot cannot be had, and if its client hangs up', async () => {
      const discard = jest.spyOn(MovedPieces.prototype, 'discard');
      try {
        const refused = await start({ takeLarge: async () => NO_SLOT });
        refused.socket.write(`${CHUNKED}${chunk('x'.repeat(101))}`);
        expect(await codeOf(refused.read)).toBe('rate_limit_exceeded');
        expect(discard).toHaveBeenCalledTimes(1);

        const failed = await start({ takeLarge: async () => Promise.reject(new Error('no limiter')) });
        failed.socket.write(declared(200));
        await expect(failed.read).rejects.toThrow('no limiter');
        expect(discard).toHaveBeenCalledTimes(2);

        let taken = false;
        const gone = await start({
          takeLarge: async () => {
            taken = true;
            return PASSED;
          },
        });
        gone.socket.write(`${declared(200)}${'x'.repeat(101)}`);
        await eventually(() => taken);
        gone.socket.destroy();
        expect(await codeOf(gone.read)).toBe('aborted');
        expect(discard).toHaveBeenCalledTimes(3);
      } finally {
        discard.mockRestore();
      }
    });

    it('is discarded if its slot cannot be had, even if it has arrived completely in the meantime', async () => {
      const discard = jest.spyOn(MovedPieces.prototype, 'discard');
      try {
        let fail: (error: Error) => void = () => {};
        const takeLarge = () =>
          new Promise<Passed>((_resolve, reject) => {
            fail = reject;
          });
        const { socket, read, server } = await start({ late: true, takeLarge });
        const request = once(server, 'request');
        socket.write(`${CHUNKED}${chunk('x'.repeat(101))}0\r\n\r\n`);
        const [incoming] = await request;
        // The stream of a body that was buffered completely ends even while it is paused.
        await eventually(() => incoming.readableEnded);
        fail(new Error('no limiter'));
        await expect(read).rejects.toThrow('no limiter');
        expect(discard).toHaveBeenCalledTimes(1);
      } finally {
        discard.mockRestore();
      }
    });

    it('does not resolve before takeLarge has, so no slot is taken unnoticed', async () => {
      const { state, takeLarge } = slots();
      const { socket, read, server } = await start({ takeLarge });
      const request = once(server, 'request');
      socket.write(declared(500));
      await state.wasAsked;
      const [incoming] = await request;
      const closed = new Promise((resolve) => incoming.once('close', resolve));
      socket.destroy();
      await closed;
      const early = await Promise.race([read, new Promise((resolve) => setImmediate(resolve, 'waiting'))]);
      expect(early).toBe('waiting');
      state.answer(PASSED);
      expect(await codeOf(read)).toBe('aborted');
    });

    it('rejects if takeLarge does', async () => {
      const { socket, read } = await start({
        takeLarge: async () => Promise.reject(new Error('no limiter')),
      });
      socket.write(declared(500));
      await expect(read).rejects.toThrow('no limiter');
    });
  });
});
