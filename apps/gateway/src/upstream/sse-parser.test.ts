import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { SseParser } from './sse-parser.ts';

const MIB = 1024 * 1024;

function parse(pieces: readonly Buffer[], maxEventBytes = MIB): { events: string[]; ok: boolean } {
  const events: string[] = [];
  const parser = new SseParser(maxEventBytes, (data) => events.push(data));
  const ok = pieces.every((piece) => parser.push(piece));
  if (ok) parser.end();
  return { events, ok };
}

const events = (text: string): string[] => parse([Buffer.from(text)]).events;

describe('server-sent events', () => {
  it('deliver the data of each event', () => {
    expect(events('data: a\n\ndata: b\n\n')).toEqual(['a', 'b']);
  });

  it('may end lines with CRLF or CR', () => {
    expect(events('data: a\r\n\r\ndata: b\r\n\r\n')).toEqual(['a', 'b']);
    expect(events('data: a\r\rdata: b\r\r')).toEqual(['a', 'b']);
    expect(events('data: a\n\r\ndata: b\r\n\n')).toEqual(['a', 'b']);
  });

  it('skip comments, other fields and events without data', () => {
    expect(events(': ping\n\nevent: x\nid: 7\nretry: 1\ndata: a\n\nevent: y\n\n: z\n')).toEqual(['a']);
    expect(events('database: no\n\ndata\n\ndata:\n\n')).toEqual([]);
  });

  it("return an older llama.cpp's error field as an error", () => {
    expect(events('error: {"code":400}\n\nerrors: x\n\n')).toEqual(['{"error":{"code":400}}']);
  });

  it('join several data lines and drop one leading space of each', () => {
    expect(events('data: a\ndata:b\ndata:  c\ndata\n\n')).toEqual(['a\nb\n c\n']);
  });

  it('may begin with a byte order mark', () => {
    expect(events('\uFEFFdata: a\n\n')).toEqual(['a']);
  });

  it('include a last event without its blank line or line end', () => {
    expect(events('data: a\n')).toEqual(['a']);
    expect(events('data: a')).toEqual(['a']);
  });

  it('are the same wherever the bytes are split', () => {
    const text =
      '\uFEFFdata: {"a":"é漢😀"}\r\n\r\n: ping\n\ndata: b\rdata: c\r\rid: 1\ndata: 😀\n\ndata: [DONE]\n\n';
    const whole = Buffer.from(text);
    const expected = ['{"a":"é漢😀"}', 'b\nc', '😀', '[DONE]'];
    for (let cut = 0; cut <= whole.length; cut++) {
      expect(parse([whole.subarray(0, cut), whole.subarray(cut)]).events).toEqual(expected);
    }
    expect(parse([...whole].map((byte) => Buffer.from([byte]))).events).toEqual(expected);
  });

  it('are the same for any events, line ends and splits', () => {
    const line = fc.string({ unit: 'grapheme' }).map((text) => text.replace(/[\r\n]/g, ''));
    const lineEnd = fc.constantFrom('\n', '\r\n', '\r');
    const event = fc.record({
      lines: fc.array(line, { minLength: 1, maxLength: 3 }),
      end: lineEnd,
      comment: line,
    });
    const cuts = fc.array(fc.nat(2_000), { maxLength: 8 });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 6 }), cuts, (sent, at) => {
        const text = sent
          .map(
            ({ lines, end, comment }) =>
              `:${comment}${end}${lines.map((l) => `data: ${l}${end}`).join('')}${end}`,
          )
          .join('');
        const bytes = Buffer.from(text);
        const sorted = [0, ...at.map((n) => Math.min(n, bytes.length)).sort((a, b) => a - b), bytes.length];
        const pieces = sorted.slice(1).map((to, i) => bytes.subarray(sorted[i], to));
        const expected = sent.map(({ lines }) => lines.join('\n')).filter((data) => data !== '');
        expect(parse(pieces)).toEqual({ events: expected, ok: true });
      }),
    );
  });

  it('are refused past the limit of an event, in one piece or many, complete or not', () => {
    const event = (bytes: number, end: string) => Buffer.from(`data: `.padEnd(bytes - end.length, 'x') + end);
    for (const end of ['\n\n', '\r\n\r\n', '\r\r']) {
      const singly = (bytes: Buffer) => [...bytes].map((byte) => Buffer.from([byte]));
      const [fits, tooLong] = [event(100, end), event(101, end)];
      expect(parse([fits, fits], 100)).toMatchObject({ ok: true, events: { length: 2 } });
      expect(parse([...singly(fits), ...singly(fits)], 100).ok).toBe(true);
      expect(parse([fits, tooLong], 100).ok).toBe(false);
      // A CR at the end of a piece ends the event before its LF arrives, so the LF does not count.
      expect(parse([...singly(fits), ...singly(tooLong)], 100).ok).toBe(end === '\r\n\r\n');
    }
    expect(
      parse(
        [...Buffer.from(`data: ${'x'.repeat(94)}`)].map((b) => Buffer.from([b])),
        99,
      ).ok,
    ).toBe(false);
    expect(parse([Buffer.from('data: x\n'.repeat(13))], 100).ok).toBe(false);
    expect(parse([Buffer.from(': ping\n'.repeat(20))], 100).ok).toBe(false);
  });
});
