import { connect, type Socket } from 'node:net';
import { EmbeddedError } from '../errors.ts';

const ANSWER_TIMEOUT_MS = 2_000;

type Words = readonly (string | number)[];

/**
 * Sends one command to a Redis on 127.0.0.1. Resolves to its answer: a status, a number or a text.
 * @throws EmbeddedError when there is no answer, or the answer is an error
 */
export const command = (port: number, ...words: Words): Promise<string> =>
  commandAs(undefined, port, ...words);

/** Sends one command as the user `default`, who has this password. */
export function commandAs(password: string | undefined, port: number, ...words: Words): Promise<string> {
  const login = password === undefined ? '' : `AUTH ${password}\r\n`;
  return new Promise((resolve, reject) => {
    const socket: Socket = connect({ host: '127.0.0.1', port, timeout: ANSWER_TIMEOUT_MS });
    let text = '';
    const end = (answer: string | EmbeddedError) => {
      socket.destroy();
      if (typeof answer === 'string') resolve(answer);
      else reject(answer);
    };
    socket.setEncoding('latin1');
    socket.once('connect', () => socket.write(`${login}${words.join(' ')}\r\n`));
    socket.on('data', (data: string) => {
      text += data;
      const answer = answerOf(login === '' ? text : text.replace(/^\+OK\r\n/, ''));
      if (answer === undefined) return;
      end(answer.startsWith('-') ? new EmbeddedError(`${words.join(' ')}: ${answer.slice(1)}`) : answer);
    });
    for (const event of ['error', 'timeout', 'end'] as const)
      socket.once(event, () => end(new EmbeddedError(`Redis on port ${port} does not answer`)));
  });
}

/** The answer. Undefined: it is not complete yet. An error keeps its minus sign. */
function answerOf(text: string): string | undefined {
  const lineEnd = text.indexOf('\r\n');
  if (lineEnd < 0) return undefined;
  const line = text.slice(1, lineEnd);
  if (text[0] === '-') return `-${line}`;
  if (text[0] !== '$') return line;
  const bulk = text.slice(lineEnd + 2);
  const length = Number(line);
  return bulk.length >= length + 2 ? bulk.slice(0, length) : undefined;
}
