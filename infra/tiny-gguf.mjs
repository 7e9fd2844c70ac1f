// @ts-check
// Writes a model for a real llama.cpp: node infra/tiny-gguf.mjs FILE [SEED]. It has the llama
// architecture, random weights, and a size of 140 KB. What it answers means nothing. It is for
// trying Tidegate with a real server where no model can be downloaded.
//
// The format is GGUF 3: a header, key-values, descriptions of tensors, and the tensors, each of
// which begins at a multiple of 32 bytes. Numbers are little-endian.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ALIGNMENT = 32;
const VERSION = 3;
const EMBEDDING = 32;
const FEED_FORWARD = 64;
const HEADS = 2;
const CONTEXT = 4_096;

const TYPES = { uint32: 4, int32: 5, float32: 6, string: 8, array: 9 };
/** The type of tensors. */
const F32 = 0;
/** What a token is: the tokenizer's words for it. */
const TOKEN = { normal: 1, unknown: 2, control: 3, byte: 6 };

/** @typedef {{ type: 'uint32' | 'int32' | 'float32', value: number }} NumberValue */
/** @typedef {{ type: 'string', value: string }} TextValue */
/** @typedef {{ of: NumberValue['type'], values: number[] }} Numbers */
/** @typedef {Numbers | { of: 'string', values: string[] }} List */
/** @typedef {NumberValue | TextValue | List} Value */
/** @typedef {{ name: string, shape: number[] }} Tensor */

/** @param {number} value */
const uint32 = (value) => ({ type: /** @type {const} */ ('uint32'), value });
/** @param {number} value */
const float32 = (value) => ({ type: /** @type {const} */ ('float32'), value });
/** @param {string} value */
const text = (value) => ({ type: /** @type {const} */ ('string'), value });

/** Printable characters, of which most answers consist. Everything else is made of bytes. */
const CHARACTERS = Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i));

/** @type {{ piece: string, kind: number }[]} */
const VOCABULARY = [
  { piece: '<unk>', kind: TOKEN.unknown },
  { piece: '<s>', kind: TOKEN.control },
  { piece: '</s>', kind: TOKEN.control },
  ...Array.from({ length: 256 }, (_, byte) => ({
    piece: `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`,
    kind: TOKEN.byte,
  })),
  // The tokenizer writes a blank like this.
  ...['\u2581', ...CHARACTERS].map((piece) => ({ piece, kind: TOKEN.normal })),
];

/** @type {Record<string, Value>} */
const METADATA = {
  'general.architecture': text('llama'),
  'general.name': text('tiny'),
  'general.alignment': uint32(ALIGNMENT),
  'llama.context_length': uint32(CONTEXT),
  'llama.embedding_length': uint32(EMBEDDING),
  'llama.feed_forward_length': uint32(FEED_FORWARD),
  'llama.block_count': uint32(1),
  'llama.attention.head_count': uint32(HEADS),
  'llama.attention.head_count_kv': uint32(HEADS),
  'llama.attention.layer_norm_rms_epsilon': float32(1e-5),
  'llama.rope.dimension_count': uint32(EMBEDDING / HEADS),
  'tokenizer.ggml.model': text('llama'),
  'tokenizer.ggml.tokens': { of: 'string', values: VOCABULARY.map(({ piece }) => piece) },
  'tokenizer.ggml.scores': { of: 'float32', values: VOCABULARY.map((_, i) => -i) },
  'tokenizer.ggml.token_type': { of: 'int32', values: VOCABULARY.map(({ kind }) => kind) },
  'tokenizer.ggml.unknown_token_id': uint32(0),
  'tokenizer.ggml.bos_token_id': uint32(1),
  'tokenizer.ggml.eos_token_id': uint32(2),
};

/** @type {Tensor[]} */
const TENSORS = [
  { name: 'token_embd.weight', shape: [EMBEDDING, VOCABULARY.length] },
  { name: 'output_norm.weight', shape: [EMBEDDING] },
  { name: 'output.weight', shape: [EMBEDDING, VOCABULARY.length] },
  { name: 'blk.0.attn_norm.weight', shape: [EMBEDDING] },
  ...['q', 'k', 'v', 'output'].map((part) => ({
    name: `blk.0.attn_${part}.weight`,
    shape: [EMBEDDING, EMBEDDING],
  })),
  { name: 'blk.0.ffn_norm.weight', shape: [EMBEDDING] },
  { name: 'blk.0.ffn_gate.weight', shape: [EMBEDDING, FEED_FORWARD] },
  { name: 'blk.0.ffn_up.weight', shape: [EMBEDDING, FEED_FORWARD] },
  { name: 'blk.0.ffn_down.weight', shape: [FEED_FORWARD, EMBEDDING] },
];

/** @param {number} value */
function u32(value) {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

/** @param {number} value */
function u64(value) {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

/** @param {string} value */
function string(value) {
  const bytes = Buffer.from(value);
  return Buffer.concat([u64(bytes.length), bytes]);
}

/**
 * @param {NumberValue['type']} type
 * @param {number} value
 */
function number(type, value) {
  if (type === 'uint32') return u32(value);
  const bytes = Buffer.alloc(4);
  if (type === 'int32') bytes.writeInt32LE(value);
  else bytes.writeFloatLE(value);
  return bytes;
}

/** @param {Value} value */
function typed(value) {
  if ('value' in value) {
    const bytes = value.type === 'string' ? string(value.value) : number(value.type, value.value);
    return Buffer.concat([u32(TYPES[value.type]), bytes]);
  }
  const items =
    value.of === 'string' ? value.values.map(string) : value.values.map((one) => number(value.of, one));
  return Buffer.concat([u32(TYPES.array), u32(TYPES[value.of]), u64(items.length), ...items]);
}

/** @param {number} bytes */
const aligned = (bytes) => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;

/** @param {Tensor} tensor */
const countOf = ({ shape }) => shape.reduce((product, size) => product * size, 1);

/**
 * The whole file.
 *
 * @param {() => number} random from 0 to 1
 */
export function tinyGguf(random) {
  let offset = 0;
  const infos = [];
  for (const tensor of TENSORS) {
    const { name, shape } = tensor;
    infos.push(string(name), u32(shape.length), ...shape.map(u64), u32(F32), u64(offset));
    offset = aligned(offset + countOf(tensor) * 4);
  }
  const head = Buffer.concat([
    Buffer.from('GGUF'),
    u32(VERSION),
    u64(TENSORS.length),
    u64(Object.keys(METADATA).length),
    ...Object.entries(METADATA).flatMap(([key, value]) => [string(key), typed(value)]),
    ...infos,
  ]);
  const tensors = TENSORS.map((tensor) => {
    const bytes = Buffer.alloc(aligned(countOf(tensor) * 4));
    // Norms scale, so they must not be near 0.
    const isNorm = tensor.shape.length === 1;
    for (let i = 0; i < countOf(tensor); i++) bytes.writeFloatLE(isNorm ? 1 : random() - 0.5, i * 4);
    return bytes;
  });
  return Buffer.concat([head, Buffer.alloc(aligned(head.length) - head.length), ...tensors]);
}

/**
 * Random numbers that are the same for the same seed (mulberry32).
 *
 * @param {number} seed
 */
export function seeded(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [file, seed = '1'] = process.argv.slice(2);
  if (!file || !/^\d{1,9}$/.test(seed)) {
    process.stderr.write('usage: node infra/tiny-gguf.mjs FILE [SEED], where SEED is a whole number\n');
    process.exit(1);
  }
  writeFileSync(file, tinyGguf(seeded(Number(seed))));
}
