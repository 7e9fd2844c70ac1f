import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { eventually, type UpstreamHandler } from '@tidegate/testing';
import { COMPLETIONS, call, MODELS, readWire } from '../../support/http.ts';
import { ask } from '../../support/org.ts';
import { request, script, text, type World } from './world.ts';

const IDLE_CONNECTIONS = 3_000;

export function describeConnections({ base, key, connection, asked }: World): void {
  describe('thousands of connections that ask for nothing', () => {
    it('do not keep others from being served, and are closed in time whether silent, half-sent or dripping', async () => {
      const opened: Socket[] = [];
      const closes: Promise<unknown>[] = [];
      const openOne = async () => {
        const socket = await connection();
        // The first may be closed before the last is open.
        closes.push(once(socket.resume(), 'close'));
        opened.push(socket);
      };
      for (let i = 0; i < IDLE_CONNECTIONS; i += 100) {
        await Promise.all(Array.from({ length: 100 }, openOne));
      }
      const half = opened.filter((_socket, i) => i % 3 > 0);
      const dripping = opened.filter((_socket, i) => i % 30 === 2);
      for (const socket of half) if (socket.writable) socket.write(`POST ${COMPLETIONS} HTTP/1.1\r\nx: `);
      const drip = setInterval(() => {
        for (const socket of dripping) if (socket.writable) socket.write('y');
      }, 100);
      for (let i = 0; i < 20; i++) {
        expect(
          (
            await call(base(), {
              key: key(),
              body: ask('tide', i % 2 ? 'Hi' : 'all', { stream: i % 2 === 0 }),
            })
          ).status,
        ).toBe(200);
      }
      await Promise.all(closes);
      clearInterval(drip);
    });

    it('with a slow head are answered with 408 before they are closed', async () => {
      const socket = await connection();
      socket.write(`GET ${MODELS} HTTP/1.1\r\nauthorization: Bearer ${key()}\r\nx: `);
      const answer = await readWire(socket);
      expect([answer.status, answer.code, answer.headers.connection]).toEqual([
        408,
        'request_timeout',
        'close',
      ]);
    });
  });

  describe('a client that closes its half of the connection', () => {
    it('gets its answer, whole and streamed [completions.half-closed]', async () => {
      for (const [stream, last] of [
        [false, /"chat\.completion"/],
        [true, /data: \[DONE\]/],
      ] as const) {
        const socket = await connection();
        socket.end(request(key(), text(stream ? 'all' : 'Hi', { stream })));
        let all = '';
        for await (const piece of socket) all += piece;
        expect(all).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
        expect(all).toMatch(last);
      }
    });
  });

  describe('pipelined completions', () => {
    it('are answered in their order, a fast one after a slow one, and each once', async () => {
      const socket = await connection();
      script.slow = async (_request, reply) => {
        await eventually(() => asked('fast') > 0);
        await (script.all as UpstreamHandler)(_request, reply);
      };
      const close = 'connection: close\r\n';
      socket.write(
        request(key(), text('slow', { stream: true })) +
          request(key(), text('fast')) +
          request(key(), text('x'), close),
      );
      let all = '';
      for await (const piece of socket) all += piece;
      expect(all.match(/HTTP\/1\.1 \d+|\[DONE\]|"chat\.completion"/g)).toEqual([
        ...[
          'HTTP/1.1 200',
          '[DONE]',
          'HTTP/1.1 200',
          '"chat.completion"',
          'HTTP/1.1 200',
          '"chat.completion"',
        ],
      ]);
    });
  });
}
