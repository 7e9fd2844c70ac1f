import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MODELS, wire } from '../../support/http.ts';
import type { World } from './world.ts';

export function describeHeaders({ base, key, from }: World): void {
  describe('absurd headers [auth.bearer]', () => {
    const get = (lines: string) =>
      wire(base(), `GET ${MODELS} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n${from()}${lines}\r\n`);
    const bearer = () => `authorization: Bearer ${key()}\r\n`;

    it.each([
      ['an Authorization of 64 KiB', () => `authorization: Bearer ti_${'a'.repeat(65_536)}\r\n`],
      ['a NUL in the key', () => `authorization: Bearer ${key()}\0\r\n`],
      ['an escape in the key', () => `authorization: Bearer \x1b[2J${key()}\r\n`],
      ['a line break in the key', () => `authorization: Bearer ti_\rab\r\n`],
      ['a space before the colon', () => `authorization : Bearer ${key()}\r\n`],
      [
        '40 KiB in 4,000 headers',
        () => `${Array.from({ length: 4_000 }, (_, i) => `x-${i}: ${i}`).join('\r\n')}\r\n${bearer()}`,
      ],
    ])('%s is not HTTP', async (_name, lines) => {
      const answer = await get(lines());
      expect([answer.status, answer.code]).toEqual([400, 'invalid_request']);
    });

    it.each([
      ['a key and another scheme', () => `${bearer()}authorization: Basic eDp5\r\n`],
      ['another scheme and a key', () => `authorization: Basic eDp5\r\n${bearer()}`],
      ['the key twice', () => bearer() + bearer().toUpperCase().replace(key().toUpperCase(), key())],
      ['a tab', () => `authorization: Bearer\t${key()}\r\n`],
      ['letters that look like Bearer', () => `authorization: Ве\u0430rer ${key()}\r\n`],
      [
        'a wrong checksum',
        () => `authorization: Bearer ${key().slice(0, -1)}${key().endsWith('0') ? '1' : '0'}\r\n`,
      ],
      ['a byte order mark', () => `authorization: \ufeffBearer ${key()}\r\n`],
    ])('%s is 401', async (_name, lines) => {
      const answer = await get(lines());
      expect([answer.status, answer.code]).toEqual([401, 'invalid_api_key']);
    });

    it('nothing that is not a key passes, and nothing breaks', async () => {
      await fc.assert(
        fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 200 }), async (value) => {
          const { status } = await get(`authorization: ${value.replace(/[\r\n]/g, '')}\r\n`);
          expect([400, 401]).toContain(status);
        }),
        { numRuns: 50 },
      );
    });

    it('2,000 of them are taken if they are small', async () => {
      expect((await get(`${'a:b\r\n'.repeat(2_000)}${bearer()}`)).status).toBe(200);
    });
  });
}
