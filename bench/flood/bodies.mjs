// Sends one body over some connections until it is killed: all of it is refused, so no limit ends
// it. Prints the status of each answer on a line.
//
//   node bench/flood/bodies.mjs '{"url": "...", "key": "...", "shape": "nested", "bytes": 32000,
//     "connections": 8}'
import { Pool } from 'undici';

/** Refused for n, after everything in front of it has been read. */
const around = (content) => `{"model":"tide","n":2,"messages":[{"role":"user","content":${content}}]}`;
const fill = (text, bytes) => text.repeat(Math.floor(bytes / Buffer.byteLength(text)));
const list = (item, bytes) => `[${fill(`${item},`, bytes).slice(0, -1)}]`;
const members = (value, bytes) =>
  Array.from({ length: Math.floor(bytes / 14) }, (_, i) => `"f${i}":${value}`).join();

const SHAPES = {
  tiny: () => around('"x"'),
  'unknown fields': (bytes) => `{${members(1, bytes)}}`,
  'null members': (bytes) => `{"model":"tide","n":2,"messages":[{${members('null', bytes)}}]}`,
  nested: (bytes) => around(`${'['.repeat(bytes / 2)}${']'.repeat(bytes / 2)}`),
  'empty objects': (bytes) => around(list('{}', bytes)),
  'text parts': (bytes) => around(list('{"type":"text","text":""}', bytes)),
  escapes: (bytes) => around(`"${fill('\\ud83d', bytes)}"`),
};

const { url, key, shape, bytes, connections } = JSON.parse(process.argv[2] ?? '{}');
const body = Buffer.from(SHAPES[shape](bytes - 100));
const { origin, pathname } = new URL(`${url}/chat/completions`);
const pool = new Pool(origin, { connections, pipelining: 1 });

async function sendOn() {
  for (;;) {
    const answer = await pool.request({
      method: 'POST',
      path: pathname,
      headers: { authorization: `Bearer ${key}` },
      body,
    });
    await answer.body.dump();
    process.stdout.write(`${answer.statusCode}\n`);
  }
}

await Promise.all(Array.from({ length: connections }, sendOn));
