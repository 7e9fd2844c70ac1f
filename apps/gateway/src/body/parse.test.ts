import { once } from 'node:events';
import { afterAll, describe, expect, it } from '@jest/globals';
import { buildUpstreamBody, isRefusal } from '@tidegate/contracts';
import { MovedPieces } from '../bytes/moved-pieces.ts';
import { endsEarly, isAborted } from '../ending.ts';
import { createParser, type Parser } from './parse.ts';
import type { Body } from './read-body.ts';

const MIB = 2 ** 20;
const parsers: Parser[] = [];

function parserOf(options: Parameters<typeof createParser>[0]): Parser {
  const parser = createParser(options);
  parsers.push(parser);
  return parser;
}

afterAll(() => Promise.all(parsers.map((parser) => parser.close())));

const inline = parserOf({ workerBytes: Number.POSITIVE_INFINITY });
const threaded = parserOf({ workerBytes: 0, maxThreads: 1 });

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

const bodyOf = (body: object): Buffer =>
  Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hé' }], ...body }));

const withImage = (url: string): Buffer =>
  bodyOf({ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] });

const inOnePiece = (body: Buffer): Body => ({ pieces: [body], bytes: body.length });

const refusalOf = async (parser: Parser, body: Buffer, orgId = 'org') => {
  const parsed = await parser.parse(inOnePiece(body), orgId);
  return isRefusal(parsed) ? parsed : null;
};

/** Tells where a body was parsed: its memory moves to a worker with it. */
async function parsedIn(parser: Parser, orgId: string, bytes: number): Promise<'worker' | 'here'> {
  // The body has memory of its own, which can move to a worker. Small buffers of Node share theirs.
  const shared = bodyOf({ messages: [{ role: 'user', content: 'x'.repeat(bytes) }] });
  const body = Buffer.from(Uint8Array.from(shared).buffer);
  expect(await refusalOf(parser, body, orgId)).toBeNull();
  return body.byteLength === 0 ? 'worker' : 'here';
}

describe('createParser', () => {
  it.each([
    ['on its own thread', inline],
    ['in a worker', threaded],
  ])('parses and validates %s with the same results', async (_, parser) => {
    const link = { type: 'image_url', image_url: { url: 'https://images.example/' } };
    const body = bodyOf({
      stream: true,
      stop: 'x',
      seed: 7,
      messages: [{ role: 'user', content: [link, { type: 'text', text: 'hé' }] }],
    });
    const parsed = await parser.parse(inOnePiece(body), 'org');
    if (endsEarly(parsed)) throw new Error(JSON.stringify(parsed));
    expect(parsed).toMatchObject({
      model: 'm',
      stream: true,
      sampling: { temperature: 0, stop: ['x'] },
      seed: 7n,
      imageCount: 1,
      linkedImages: [{ url: 'https://images.example/', index: 0 }],
    });
    const upstream = buildUpstreamBody(parsed, 'm', [Buffer.from('"D"')]);
    expect(JSON.parse(Buffer.concat(upstream).toString())).toMatchObject({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url: 'D' } },
            { type: 'text', text: 'hé' },
          ],
        },
      ],
    });
    expect(await refusalOf(parser, Buffer.from('{'))).toMatchObject({ code: 'invalid_json' });
    expect(await refusalOf(parser, bodyOf({ n: 2 }))).toMatchObject({ code: 'invalid_request' });
    expect(await refusalOf(parser, bodyOf({ tools: [] }))).toMatchObject({ code: 'unsupported_parameter' });
  });

  it('refuses what is not UTF-8 as invalid_json and skips a byte order mark', async () => {
    const broken = [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0x80]].map((bytes) =>
      Buffer.concat([
        Buffer.from('{"model":"'),
        Buffer.from(bytes),
        Buffer.from('","messages":[{"role":"user","content":""}]}'),
      ]),
    );
    for (const body of broken) expect(await refusalOf(inline, body)).toMatchObject({ code: 'invalid_json' });
    expect(await refusalOf(inline, Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bodyOf({})]))).toBeNull();
    expect(await refusalOf(inline, Buffer.alloc(0))).toMatchObject({ code: 'invalid_json' });
  });

  it('does not block the event loop while it parses 20 MiB with a large image, and moves the memory instead of copying it', async () => {
    const image = Buffer.concat([PNG, Buffer.alloc(14 * MIB)]);
    const body = withImage(`data:image/png;base64,${image.toString('base64')}`);
    expect(await refusalOf(threaded, bodyOf({}))).toBeNull();
    let turns = 0;
    const count = setInterval(() => turns++, 1);
    const parsed = await threaded.parse(inOnePiece(body), 'org');
    clearInterval(count);
    expect(parsed).toMatchObject({ imageCount: 1 });
    expect(turns).toBeGreaterThan(0);
    expect(body.byteLength).toBe(0);
  });

  it.each([
    ['on its own thread', inline],
    ['in a worker', threaded],
  ])('parses %s a body that came in pieces, even if they split its characters', async (_, parser) => {
    const whole = bodyOf({ messages: [{ role: 'user', content: '漢é'.repeat(20) }] });
    const pieces = Array.from(whole, (byte) => Buffer.from([byte]));
    const parsed = await parser.parse({ pieces, bytes: whole.length }, 'org');
    expect(parsed).toEqual(await parser.parse(inOnePiece(whole), 'org'));
    expect(isRefusal(parsed)).toBe(false);
  });

  it('moves every piece of a body to the worker, so that none stays with the main thread', async () => {
    const whole = bodyOf({ messages: [{ role: 'user', content: 'x'.repeat(40_000) }] });
    const cuts = [0, 16_384, 32_768, whole.length];
    const pieces = cuts
      .slice(1)
      .map((end, i) => Buffer.from(new Uint8Array(whole.subarray(cuts[i], end)).buffer));
    const parsed = await threaded.parse({ pieces, bytes: whole.length }, 'org');
    expect(isRefusal(parsed)).toBe(false);
    expect(pieces.map(({ byteLength }) => byteLength)).toEqual([0, 0, 0]);
  });

  it('receives in a worker what has left the heap, and discards it even if it refuses the body', async () => {
    const whole = bodyOf({ messages: [{ role: 'user', content: 'x'.repeat(40_000) }] });
    const moved = (bytes: Buffer): { body: Body; closed: Promise<unknown> } => {
      const pieces = new MovedPieces();
      for (let at = 0; at < bytes.length; at += 16_384)
        pieces.add(Buffer.from(bytes.subarray(at, at + 16_384)));
      return { body: { pieces, bytes: bytes.length }, closed: once(pieces.port, 'close') };
    };
    const parsed = await inline.parse(moved(whole).body, 'org');
    expect(parsed).toEqual(await inline.parse(inOnePiece(whole), 'org'));
    const noRoom = parserOf({ maxThreads: 1, maxWaiting: 0 });
    const refused = moved(whole);
    const [first, second] = await Promise.all([
      noRoom.parse(moved(whole).body, 'org'),
      noRoom.parse(refused.body, 'org'),
    ]);
    expect(isRefusal(first)).toBe(false);
    expect(second).toMatchObject({ cause: 'busy' });
    await refused.closed;
  });

  it('does not take the memory of a body that shares it with others', async () => {
    const pool = Buffer.concat([Buffer.from('....'), bodyOf({})]);
    expect(await refusalOf(threaded, pool.subarray(4))).toBeNull();
    expect(pool.subarray(0, 4).toString()).toBe('....');
  });

  it('refuses 20 MiB of hostile nesting, and parses the next body', async () => {
    const hostile = Buffer.from(`{"model":"m","messages":${'['.repeat(10 * MIB)}${']'.repeat(10 * MIB)}}`);
    expect(await refusalOf(threaded, hostile)).toMatchObject({ code: 'invalid_request' });
    expect(await refusalOf(threaded, bodyOf({}))).toBeNull();
  });

  it("parses one organization's body for a worker while another fills its share of the queue", async () => {
    const parser = parserOf({ workerBytes: 0, maxThreads: 1, maxWaiting: 8 });
    const order: string[] = [];
    const parse = async (orgId: string) => {
      const refusal = await refusalOf(parser, bodyOf({}), orgId);
      order.push(refusal ? 'busy' : orgId);
    };
    await Promise.all([...Array.from({ length: 40 }, () => parse('a')), parse('b')]);
    const parsed = order.filter((one) => one !== 'busy');
    expect(parsed).toEqual(['a', 'b', 'a', 'a']);
  });

  it("parses one organization's small body before the many that another sent first", async () => {
    const parser = parserOf({ slowMs: Number.POSITIVE_INFINITY });
    const order: string[] = [];
    const parse = async (orgId: string, filler: string) => {
      const body = bodyOf({ messages: [{ role: 'user', content: filler }] });
      expect(await refusalOf(parser, body, orgId)).toBeNull();
      order.push(orgId);
    };
    const flood = Array.from({ length: 20 }, () => parse('a', 'x'.repeat(30_000)));
    await Promise.all([...flood, parse('b', 'x')]);
    expect(order.indexOf('b')).toBe(1);
    expect(order).toHaveLength(21);
  });

  it('leaves a body of 32 KiB to a worker, and no smaller one', async () => {
    const parser = parserOf({ slowMs: Number.POSITIVE_INFINITY });
    expect(await parsedIn(parser, 'a', 32 * 1024)).toBe('worker');
    expect(await parsedIn(parser, 'a', 31 * 1024)).toBe('here');
  });

  it("leaves an organization's slow bodies to a worker once they have used up their time on its own thread", async () => {
    let nowMs = 0;
    // By this clock, every body takes 1 ms.
    const parser = parserOf({ nowMs: () => nowMs++ });
    for (let i = 0; i < 20; i++) expect(await parsedIn(parser, 'a', 5_000)).toBe('here');
    expect(await parsedIn(parser, 'a', 5_000)).toBe('worker');
    expect(await parsedIn(parser, 'a', 1_000)).toBe('here');
    expect(await parsedIn(parser, 'b', 5_000)).toBe('here');
    nowMs = 2_000;
    expect(await parsedIn(parser, 'a', 5_000)).toBe('here');
  });

  it('refuses bodies beyond its bounded queue as busy, with Retry-After 1', async () => {
    const busy = parserOf({ workerBytes: 0, maxThreads: 1, maxWaiting: 2 });
    const results = await Promise.all(Array.from({ length: 40 }, () => refusalOf(busy, bodyOf({}))));
    const refused = results.filter((refusal) => refusal !== null);
    expect(refused.length).toBe(38);
    for (const refusal of refused)
      expect(refusal).toMatchObject({ code: 'rate_limit_exceeded', retryAfterS: 1 });
    expect(await refusalOf(busy, bodyOf({}))).toBeNull();
  });

  it('does not parse a body whose client left while it waited', async () => {
    const parser = parserOf({ workerBytes: 0, maxThreads: 1 });
    const client = new AbortController();
    const order: string[] = [];
    const parse = async (name: string, signal?: () => AbortSignal) => {
      const parsed = await parser.parse(inOnePiece(bodyOf({})), 'a', signal);
      order.push(isAborted(parsed) ? `${name} left` : name);
    };
    const parsing = ['first', 'second'].map((name) => parse(name, () => client.signal));
    client.abort();
    await Promise.all([...parsing, parse('third')]);
    expect(order).toEqual(['second left', 'first', 'third']);
  });

  it('rejects a body that is being parsed when it is closed', async () => {
    const parser = parserOf({ workerBytes: 0, maxThreads: 1 });
    const rejected = expect(parser.parse(inOnePiece(bodyOf({})), 'a')).rejects.toThrow();
    await parser.close();
    await rejected;
  });
});
