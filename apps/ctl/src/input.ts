import { isUtf8 } from 'node:buffer';
import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';
import { Writable as Sink } from 'node:stream';
import { CommandError } from './context.ts';

const MAX_BYTES = 64 * 1024;

/**
 * Reads a secret: one line from a terminal, which does not show it, or everything from any other
 * input. A newline at the end is dropped.
 * @throws CommandError if there is none
 */
export async function readSecret(
  input: Readable & { readonly isTTY?: boolean },
  prompt: string,
  screen: Pick<Writable, 'write'>,
): Promise<string> {
  const secret = input.isTTY ? await ask(input, prompt, screen) : await readAll(input);
  if (secret === '') throw new CommandError('There was nothing on standard input.');
  return secret;
}

async function readAll(input: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    chunks.push(Buffer.from(chunk));
    bytes += chunks.at(-1)?.length ?? 0;
    if (bytes > MAX_BYTES) throw new CommandError(`There were over ${MAX_BYTES} bytes on standard input.`);
  }
  const all = Buffer.concat(chunks);
  if (!isUtf8(all)) throw new CommandError('What is on standard input is not UTF-8.');
  return all.toString('utf8').replace(/\r?\n$/, '');
}

/** The line editor works as usual, but writes nowhere. */
async function ask(input: Readable, prompt: string, screen: Pick<Writable, 'write'>): Promise<string> {
  const nowhere = new Sink({ write: (_chunk, _encoding, done) => done() });
  const editor = createInterface({ input, output: nowhere, terminal: true, historySize: 0 });
  const given = new AbortController();
  editor.once('SIGINT', () => given.abort()).once('close', () => given.abort());
  screen.write(`${prompt}: `);
  try {
    return await editor.question('', { signal: given.signal });
  } catch {
    throw new CommandError('Cancelled.');
  } finally {
    editor.close();
    screen.write('\n');
  }
}
