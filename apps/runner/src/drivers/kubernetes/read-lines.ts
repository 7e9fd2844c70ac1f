import { StringDecoder } from 'node:string_decoder';

/** @throws Error when there is more than `maxBytes` */
export async function readBounded(body: AsyncIterable<Buffer>, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new Error('its answer is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/**
 * The lines of a body as they arrive, without empty ones and without a last one that is cut off.
 *
 * @throws Error when a line has more than `maxLength` characters
 */
export async function* linesOf(body: AsyncIterable<Buffer>, maxLength: number): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  for await (const chunk of body) {
    // Only what has just arrived is searched, however long the line is by now.
    const lines = decoder.write(chunk).split('\n');
    lines[0] = rest + lines[0];
    rest = lines.pop() ?? '';
    if (rest.length > maxLength) throw new Error('a line of its answer is too long');
    for (const line of lines) if (line.trim() !== '') yield line;
  }
}
