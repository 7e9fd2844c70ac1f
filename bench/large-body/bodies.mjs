// Sends bodies of 20 MiB, two at a time, until it is killed. Prints the status of each answer on a
// line.
//
//   node bench/large-body/bodies.mjs '{"url": "...", "key": "...", "kind": "one string"}'
import { Readable } from 'node:stream';
import { Pool } from 'undici';

const BYTES = 20 * 1024 * 1024;
const PIECE_BYTES = 64 * 1024;
const PNG_HEAD =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg';

const around = (content) => `{"model":"eyes","messages":[{"role":"user","content":${content}}]}`;
const room = BYTES - around('').length;
const text = (filler) => around(`"${filler.repeat(Math.floor((room - 2) / Buffer.byteLength(filler)))}"`);

function parts(part, count) {
  return around(`[${Array(count).fill(part).join()}]`);
}

function textParts() {
  const count = 160_000;
  const bare = '{"type":"text","text":""}';
  const filler = 'x'.repeat(Math.floor((room - 2) / count) - bare.length - 1);
  return parts(`{"type":"text","text":"${filler}"}`, count);
}

function images() {
  const bare = '{"type":"image_url","image_url":{"url":"data:image/png;base64,"}}';
  const characters = Math.floor(((room - 2) / 4 - bare.length - 1) / 4) * 4;
  const url = `data:image/png;base64,${PNG_HEAD.padEnd(characters, 'A')}`;
  return parts(`{"type":"image_url","image_url":{"url":"${url}"}}`, 4);
}

const KINDS = {
  'one string': () => text('x'),
  'not ASCII': () => text('\u6d77'),
  escapes: () => text('\\u6d77'),
  nested: () => around(`${'['.repeat(room / 2)}${']'.repeat(room / 2)}`),
  'text parts': textParts,
  images,
  'no size given': () => text('x'),
};

const { url, key, kind } = JSON.parse(process.argv[2] ?? '{}');
const body = Buffer.from(KINDS[kind]());
const { origin, pathname } = new URL(`${url}/chat/completions`);
const pool = new Pool(origin, { connections: 2, pipelining: 1 });

function* pieces() {
  for (let at = 0; at < body.length; at += PIECE_BYTES) yield body.subarray(at, at + PIECE_BYTES);
}

async function sendOn() {
  for (;;) {
    const answer = await pool.request({
      method: 'POST',
      path: pathname,
      headers: { authorization: `Bearer ${key}` },
      body: kind === 'no size given' ? Readable.from(pieces()) : body,
    });
    await answer.body.dump();
    process.stdout.write(`${answer.statusCode}\n`);
  }
}

await Promise.all([sendOn(), sendOn()]);
