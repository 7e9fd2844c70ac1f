import { PassThrough, Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { readSecret } from './input.ts';

/** A terminal. It is in raw mode, so the reader does the line editing. */
function terminal() {
  const shown: string[] = [];
  const modes: boolean[] = [];
  const keys = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (raw: boolean) => void modes.push(raw),
  });
  const answer = readSecret(keys, 'New password', { write: (text: string) => shown.push(text) > 0 });
  return { keys, answer, shown, modes };
}

describe('a secret on standard input', () => {
  it.each([
    ['sk-1', 'sk-1'],
    ['sk-1\n', 'sk-1'],
    ['sk-1\r\n', 'sk-1'],
    [' two words \n\n', ' two words \n'],
  ])('is all of the input, without a newline at the end: %j', async (text, secret) => {
    expect(await readSecret(Readable.from([text]), 'Key', { write: () => true })).toBe(secret);
  });

  it('must be UTF-8, or its owner could not type it', async () => {
    const latin1 = Readable.from([Buffer.from('pässword', 'latin1')]);
    await expect(readSecret(latin1, 'Key', { write: () => true })).rejects.toThrow('is not UTF-8');
  });

  it('must not be empty, nor endless', async () => {
    const refused = (text: string) => readSecret(Readable.from([text]), 'Key', { write: () => true });
    await expect(refused('\n')).rejects.toThrow('nothing on standard input');
    await expect(refused('x'.repeat(65_537))).rejects.toThrow('over 65536 bytes');
  });
});

describe('a secret at a terminal', () => {
  it('is asked for and typed unseen, with mistakes corrected', async () => {
    const { keys, answer, shown, modes } = terminal();
    keys.write('hunterx\u007f2\r');
    expect(await answer).toBe('hunter2');
    expect(shown).toEqual(['New password: ', '\n']);
    expect(modes).toEqual([true, false]);
  });

  it.each([
    ['Ctrl-C', '\u0003'],
    ['Ctrl-D', '\u0004'],
  ])('is cancelled with %s', async (_name, key) => {
    const { keys, answer, modes } = terminal();
    keys.write(key);
    await expect(answer).rejects.toThrow('Cancelled.');
    expect(modes.at(-1)).toBe(false);
  });
});
