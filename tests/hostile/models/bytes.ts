/** The content of a well-behaved model's answer, and the frames for it. */

export const USAGE = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };

const crlf = (lines: readonly string[]) => `${lines.join('\r\n')}\r\n\r\n`;

export const head = (status: string, ...headers: string[]) => crlf([`HTTP/1.1 ${status}`, ...headers]);
const JSON_TYPE = 'content-type: application/json';
const SSE_TYPE = 'content-type: text/event-stream';

/** A whole answer with its content-length. */
export function whole(body: string | Uint8Array, { status = '200 OK', type = JSON_TYPE } = {}): Buffer {
  const bytes = Buffer.from(body as string);
  return Buffer.concat([Buffer.from(head(status, type, `content-length: ${bytes.length}`)), bytes]);
}

export const chunkedHead = (type = SSE_TYPE, ...more: string[]) =>
  head('200 OK', type, 'transfer-encoding: chunked', ...more);

/** Puts each piece into one chunk of the chunked encoding. */
export const chunk = (...pieces: (string | Uint8Array)[]): Buffer =>
  Buffer.concat(
    pieces.flatMap((piece) => {
      const bytes = Buffer.from(piece as string);
      return [Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')];
    }),
  );
export const LAST_CHUNK = '0\r\n\r\n';

/** A complete streamed answer: the head, the body in chunks, and the end. */
export const streamed = (...pieces: (string | Uint8Array)[]): Buffer =>
  Buffer.concat([Buffer.from(chunkedHead()), chunk(...pieces), Buffer.from(LAST_CHUNK)]);

export const event = (data: unknown, lineEnd = '\n') =>
  `data: ${typeof data === 'string' ? data : JSON.stringify(data)}${lineEnd}${lineEnd}`;
export const DONE = event('[DONE]');

export const delta = (content: unknown, finish_reason: unknown = null, more: object = {}) => ({
  id: 'up-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'up',
  choices: [{ index: 0, delta: { content }, finish_reason }],
  ...more,
});
/** A second choice, which nobody asked for. */
export const otherChoice = (content: string, finish_reason: string | null = null, index: unknown = 1) => ({
  index,
  delta: { content },
  finish_reason,
});
export const usageChunk = (usage: unknown = USAGE) => ({ ...delta(''), choices: [], usage });
const role = { ...delta(''), choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] };

export const HEL = event(role) + event(delta('Hel'));
export const LO = event(delta('lo', 'stop'));
/** A stream of `Hel` and `lo`, with usage and `[DONE]`. */
export const HELLO = HEL + LO + event(usageChunk()) + DONE;

export const answer = (content: unknown = 'Hello', more: object = {}) => ({
  id: 'up-1',
  object: 'chat.completion',
  created: 1,
  model: 'up',
  choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
  usage: USAGE,
  ...more,
});
export const ANSWER = JSON.stringify(answer());
