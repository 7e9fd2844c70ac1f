import { describe, expect, it } from '@jest/globals';
import { seeded, tinyGguf } from './tiny-gguf.mjs';

type Read = number | string | Read[];

/** Reads a file as llama.cpp does. */
class Reader {
  readonly #bytes: Buffer;
  at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  u32 = (): number => this.#bytes.readUInt32LE(this.#skip(4));
  u64 = (): number => Number(this.#bytes.readBigUInt64LE(this.#skip(8)));
  i32 = (): number => this.#bytes.readInt32LE(this.#skip(4));
  f32 = (): number => this.#bytes.readFloatLE(this.#skip(4));

  text = (): string => {
    const length = this.u64();
    return this.#bytes.toString('utf8', this.#skip(length), this.at);
  };

  value(type = this.u32()): Read {
    if (type === 9) {
      const of = this.u32();
      return Array.from({ length: this.u64() }, () => this.value(of));
    }
    const read = { 4: this.u32, 5: this.i32, 6: this.f32, 8: this.text }[type];
    if (!read) throw new Error(`no such type: ${type}`);
    return read();
  }

  #skip(bytes: number): number {
    this.at += bytes;
    return this.at - bytes;
  }
}

function read(file: Buffer) {
  const reader = new Reader(file);
  const magic = file.toString('latin1', 0, 4);
  reader.at = 4;
  const version = reader.u32();
  const [tensorCount, valueCount] = [reader.u64(), reader.u64()];
  const values = new Map(Array.from({ length: valueCount }, () => [reader.text(), reader.value()]));
  const tensors = Array.from({ length: tensorCount }, () => ({
    name: reader.text(),
    shape: Array.from({ length: reader.u32() }, reader.u64),
    type: reader.u32(),
    offset: reader.u64(),
  }));
  return { magic, version, values, tensors, data: Math.ceil(reader.at / 32) * 32 };
}

describe('the tiny model', () => {
  const file = tinyGguf(seeded(1));
  const { magic, version, values, tensors, data } = read(file);

  it('is a GGUF file with the whole of each tensor, one after the other, at multiples of 32 bytes', () => {
    expect([magic, version]).toEqual(['GGUF', 3]);
    let end = 0;
    for (const { shape, type, offset } of tensors) {
      expect([type, offset, offset % 32]).toEqual([0, end, 0]);
      end = Math.ceil((offset + shape.reduce((a, b) => a * b) * 4) / 32) * 32;
    }
    expect(file.length).toBe(data + end);
  });

  it('has a token for every byte, and as many embeddings, scores and types as tokens', () => {
    const tokens = values.get('tokenizer.ggml.tokens') as string[];
    const bytes = tokens.filter((token) => /^<0x[0-9A-F]{2}>$/.test(token));
    expect(new Set(bytes).size).toBe(256);
    for (const key of ['scores', 'token_type'])
      expect(values.get(`tokenizer.ggml.${key}`)).toHaveLength(tokens.length);
    const embedding = tensors.find(({ name }) => name === 'token_embd.weight');
    expect(embedding?.shape).toEqual([values.get('llama.embedding_length'), tokens.length]);
  });

  it('is the same for the same seed, and different for another seed', () => {
    expect(tinyGguf(seeded(1)).equals(file)).toBe(true);
    expect(tinyGguf(seeded(2)).equals(file)).toBe(false);
  });
});
