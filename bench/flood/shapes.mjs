// The worst bodies to parse, each of about a given number of bytes. All are refused, most of them
// because of n, after everything in front of it has been read. The one for an unknown model is
// valid.
const MESSAGE = '{"role":"user","content":"x"}';
const body = (fields, messages = MESSAGE) => `{"model":"tide","n":2${fields},"messages":[${messages}]}`;
const around = (content) => body('', `{"role":"user","content":${content}}`);
const fill = (text, bytes) => text.repeat(Math.max(1, Math.floor(bytes / Buffer.byteLength(text))));
const list = (item, bytes) => `[${fill(`${item},`, bytes).slice(0, -1)}]`;
const members = (value, bytes) => {
  const all = [];
  for (let written = 0; written < bytes; written += all[all.length - 1].length + 1)
    all.push(`"f${all.length}":${value}`);
  return all.join();
};
/** Messages of 90 members each, which are not too many to be built. */
const wideMessages = (nameOf, bytes) => {
  const all = [];
  for (let i = 0, written = 0; written < bytes; i++) {
    const names = Array.from({ length: 90 }, (_, at) => `"${nameOf(i * 90 + at)}":null`);
    all.push(`{"role":"user","content":"x",${names.join()}}`);
    written += all[i].length + 1;
  }
  return body('', all.join());
};
/** A number of many digits, so small that reading it takes exact arithmetic. */
const DECIMAL = `2.${'2250738585072011'.repeat(48)}e-308`;
const LINK = '{"type":"image_url","image_url":{"url":"https://images.example/"}}';
const image = (bytes) =>
  `{"type":"image_url","image_url":{"url":"data:image/png;base64,${fill('AAAA', bytes - 100)}"}}`;

/** By name: each makes the text of a body of about that many bytes. */
export const SHAPES = {
  tiny: () => around('"x"'),
  'unknown fields': (bytes) => `{${members(1, bytes)}}`,
  'null fields': (bytes) => `{${members(null, bytes)}}`,
  'null members': (bytes) => body('', `{${members(null, bytes)}}`),
  'options members': (bytes) => body(`,"stream_options":{${members(null, bytes)}}`),
  'wide messages': (bytes) => wideMessages((i) => `f${i}`, bytes),
  'numbers as names': (bytes) => wideMessages((i) => 4294967294 - 7 * i, bytes),
  'repeated fields': (bytes) => `{${fill('"n":2,', bytes)}"n":2}`,
  nested: (bytes) => around(`${'['.repeat(bytes / 2)}${']'.repeat(bytes / 2)}`),
  'nested objects': (bytes) => body(`,"stop":${'{"a":'.repeat(bytes / 6)}1${'}'.repeat(bytes / 6)}`),
  'empty objects': (bytes) => around(list('{}', bytes)),
  'text parts': (bytes) => around(list('{"type":"text","text":""}', bytes)),
  'many messages': (bytes) => body('', fill(`${MESSAGE},`, bytes) + MESSAGE),
  '101 messages': (bytes) =>
    body(
      '',
      Array(101)
        .fill(`{"role":"user","content":"${fill('é', bytes / 101 - 30)}"}`)
        .join(),
    ),
  'image parts': (bytes) => around(list(LINK, bytes)),
  images: (bytes) =>
    around(
      `[${Array(4)
        .fill(image(bytes / 4))
        .join()}]`,
    ),
  'long string': (bytes) => around(`"${'x'.repeat(bytes)}"`),
  'wide string': (bytes) => around(`"${fill('漢', bytes)}"`),
  pairs: (bytes) => around(`"${fill('😀', bytes)}"`),
  'long user': (bytes) => body(`,"user":"${'x'.repeat(bytes)}"`),
  escapes: (bytes) => around(`"${fill('\\ud83d', bytes)}"`),
  'escaped names': (bytes) => body('', `{${fill('"\\u0061\\u0062":1,', bytes)}"role":"user"}`),
  numbers: (bytes) => body(`,"stop":${list('1e5', bytes)}`),
  decimals: (bytes) => body(`,"stop":${list(DECIMAL, bytes)}`),
  digits: (bytes) => body(`,"seed":${'9'.repeat(bytes)}`),
  spaces: (bytes) => body(' '.repeat(bytes)),
  broken: (bytes) => body('', `${fill(`${MESSAGE},`, bytes)}{`),
  'unknown model': (bytes) =>
    `{"model":"nobody","messages":[{"role":"user","content":"${fill('\\u00e9', bytes)}"}]}`,
};
