import type { Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { eventually } from '@tidegate/testing';
import { COMPLETIONS, call, MODELS, wire } from '../../support/http.ts';
import { ask } from '../../support/org.ts';
import { KIB, MIB, request, type World } from './world.ts';

/** The contract's. */
const BODY_TIMEOUT_MS = 30_000;

export function describeBodies({ base, key, connection, from, newOrgWithModels }: World): void {
  const head = (more: string) =>
    `POST ${COMPLETIONS} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${key()}\r\n${more}\r\n\r\n`;

  describe('a body that is not what its head says', () => {
    /** The statuses and codes of all answers on a connection. The server must close it. */
    async function statuses(bytes: string): Promise<string[]> {
      const socket = await connection();
      socket.write(bytes);
      let all = '';
      for await (const piece of socket) all += piece;
      return all.match(/(?<=HTTP\/1\.1 )\d+|"code":"\w+"/g) ?? [];
    }
    const invalid = '"code":"invalid_request"';

    it('is longer: the rest is another request, without a key unless it brings one', async () => {
      // The gateway may find the garbage before or after it answers the first request.
      const both = await statuses(`${head('content-length: 5')}{"a":}garbage\r\n\r\n`);
      expect(both.slice(-2)).toEqual(['400', invalid]);
      expect(both).not.toContain('200');
      const smuggled = `GET ${MODELS} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n${from()}\r\n`;
      expect(await statuses(`${head('content-length: 2')}{}${smuggled}`)).toEqual([
        ...['400', invalid, '401', '"code":"invalid_api_key"'],
      ]);
    });

    it.each([
      ['a chunk longer than it says', 'transfer-encoding: chunked', '2\r\n{"a"\r\n0\r\n\r\n'],
      ['a chunk of 2^64 bytes', 'transfer-encoding: chunked', '10000000000000000\r\n{}\r\n0\r\n\r\n'],
      ['a chunk size of letters', 'transfer-encoding: chunked', 'xyz\r\n{}\r\n0\r\n\r\n'],
      [
        'endless chunk extensions',
        'transfer-encoding: chunked',
        `2;${'a'.repeat(70_000)}\r\n{}\r\n0\r\n\r\n`,
      ],
      ['endless trailers', 'transfer-encoding: chunked', `2\r\n{}\r\n0\r\na: ${'a'.repeat(70_000)}\r\n\r\n`],
      ['a coding after chunked', 'transfer-encoding: chunked, gzip', '2\r\n{}\r\n0\r\n\r\n'],
      ['a length with a sign', 'content-length: +2', '{}'],
      ['two lengths in one', 'content-length: 2, 2', '{}'],
      ['a length of 2^64', 'content-length: 18446744073709551616', '{}'],
    ])('%s', async (_name, header, body) => {
      expect(await statuses(head(header) + body)).toEqual(['400', invalid]);
    });
  });

  describe('20 MiB that are made to be hard to read', () => {
    type Body = (bytes: number) => Buffer;
    /** `Buffer.alloc` fills much faster than strings are repeated and encoded. */
    const repeated = (unit: string, times: number) => Buffer.alloc(unit.length * times, unit);
    const filled =
      (open: string, unit: string, close: string): Body =>
      (bytes) =>
        Buffer.concat([
          Buffer.from(open),
          repeated(unit, Math.floor((bytes - open.length - close.length) / unit.length)),
          Buffer.from(close),
        ]);
    const nested =
      (open: string, inmost: string, close: string): Body =>
      (bytes) => {
        const depth = Math.floor((0.9 * bytes) / (open.length + close.length));
        const [outer, inner] = [repeated(open, depth), repeated(close, depth)];
        return Buffer.concat([Buffer.from(content), outer, Buffer.from(inmost), inner, Buffer.from('}]}')]);
      };
    const content = '{"model":"eyes","messages":[{"role":"user","content":';
    it.each([
      ['arrays in arrays', nested('[', '', ']'), 400, 'invalid_request'],
      ['objects in objects', nested('{"a":', '1', '}'), 400, 'invalid_request'],
      ['arrays that never close', filled(content, '[', ''), 400, 'invalid_json'],
      ['__proto__ over and over', filled('{', '"__proto__":{},', '"n":1}'), 400, 'unsupported_parameter'],
      ['a member over and over', filled('{', '"model":"eyes",', '"messages":[]}'), 400, 'invalid_request'],
      ['half surrogate pairs', filled(`${content}"`, '\\ud83d', '"}]}'), 200, undefined],
      ['empty messages', filled('{"model":"eyes","messages":[', '{},', '{}]}'), 400, 'invalid_request'],
      ['a number without end', filled('{"n":', '1', '}'), 400, 'invalid_request'],
    ] as const)('%s', async (_name, body, status, code) => {
      const large = body(20 * MIB);
      // Unlike `call`, `wire` does not check what it sends against the description, which would
      // take up to a minute.
      const answers = [
        await call(base(), { key: key(), body: body(20 * KIB) }),
        await wire(base(), head(`connection: close\r\ncontent-length: ${large.length}`), large),
      ];
      expect(answers.map((answer) => [answer.status, answer.code])).toEqual(Array(2).fill([status, code]));
    });
  });

  describe('of large bodies', () => {
    it('the third of an organization is refused, no other organization waits, and a hang-up makes room [limit.large-bodies]', async () => {
      const { key: other } = await newOrgWithModels();
      const large = (ofKey: string) =>
        call(base(), { key: ofKey, body: ask('eyes', 'x'.repeat(2 * MIB + 1)) });
      const isFull = async () => {
        const { status, headers, code } = await large(key());
        expect([status, code, headers['retry-after']]).toEqual([429, 'rate_limit_exceeded', '1']);
        return true;
      };
      let arriving: readonly Socket[] = [];
      await eventually(async () => {
        for (const socket of arriving) socket.destroy();
        arriving = [await connection(), await connection()];
        for (const socket of arriving) socket.write(request(key(), 'x'.repeat(3 * MIB)).slice(0, -1));
        // On a busy machine their time may be up before they are seen.
        return eventually(isFull, { timeoutMs: BODY_TIMEOUT_MS / 2 });
      });
      expect((await large(other)).status).toBe(200);
      arriving[0]?.resetAndDestroy();
      await eventually(async () => (await large(key())).status === 200);
    });
  });
}
