import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { findProgram } from '@tidegate/embedded';
import { type Answered, type Client, messagesOf, type Question } from './client.ts';

let found: Promise<string> | undefined;
const findCurl = (): Promise<string> => {
  found ??= findProgram({ title: 'curl', names: ['curl'], packages: ['curl'] });
  return found;
};

class CurlError extends Error {
  readonly status: number;
  readonly body: string;
  constructor(status: number, body: string) {
    super(`curl got ${status}`);
    this.status = status;
    this.body = body;
  }
}

const bodyOf = (question: Question, more: object = {}) =>
  JSON.stringify({ model: question.model, messages: messagesOf(question), ...more });

/** Runs curl with the body on its standard input. Resolves with its output, line by line. */
async function run(
  { base, key, signal }: Pick<Question, 'base' | 'key' | 'signal'>,
  path: string,
  body?: string,
  onLine?: (line: string) => void,
): Promise<string[]> {
  const args = ['--silent', '--no-buffer', '--write-out', '\n%{http_code}', `${base}${path}`];
  args.push('-H', `Authorization: Bearer ${key}`);
  if (body !== undefined) args.push('-H', 'Content-Type: application/json', '--data-binary', '@-');
  const child = spawn(await findCurl(), args, {
    stdio: ['pipe', 'pipe', 'inherit'],
    ...(signal && { signal }),
  });
  const ended = once(child, 'close');
  // It is awaited below, but may reject earlier if it is aborted.
  ended.catch(() => {});
  child.stdin.on('error', () => {}).end(body);
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    onLine?.(line);
  }
  const [exitCode] = await ended;
  if (exitCode !== 0) throw new Error(`curl ended with ${exitCode}`);
  const status = Number(lines.pop());
  if (status !== 200) throw new CurlError(status, lines.join('\n'));
  return lines;
}

interface Body {
  readonly choices: readonly {
    readonly message?: { readonly content: string };
    readonly delta?: { readonly content?: string };
    readonly finish_reason: string | null;
  }[];
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number };
}

const answered = (text: string, reason: string | null | undefined, usage: Body['usage']): Answered => ({
  text,
  finishReason: reason ?? undefined,
  promptTokens: usage?.prompt_tokens,
  completionTokens: usage?.completion_tokens,
});

const eventOf = (line: string): Body | undefined =>
  line.startsWith('data: {') ? JSON.parse(line.slice('data: '.length)) : undefined;

export const curl: Client = {
  name: 'curl',

  async whole(question) {
    const lines = await run(question, '/chat/completions', bodyOf(question));
    const { choices, usage } = JSON.parse(lines.join('\n')) as Body;
    return answered(choices[0]?.message?.content ?? '', choices[0]?.finish_reason, usage);
  },

  async stream(question, onPiece) {
    const body = bodyOf(question, { stream: true, stream_options: { include_usage: true } });
    const lines = await run(question, '/chat/completions', body, (line) => {
      const piece = eventOf(line)?.choices[0]?.delta?.content;
      if (piece) onPiece?.(piece);
    });
    const events = lines.flatMap((line) => eventOf(line) ?? []);
    return answered(
      events.map(({ choices }) => choices[0]?.delta?.content ?? '').join(''),
      events.findLast(({ choices }) => choices[0]?.finish_reason)?.choices[0]?.finish_reason,
      events.at(-1)?.usage,
    );
  },

  brokenOff: /^curl ended with 18$/,

  failed(thrown) {
    if (!(thrown instanceof CurlError)) throw thrown;
    const { error } = JSON.parse(thrown.body) as { error: { code: string; message: string } };
    return { status: thrown.status, code: error.code, message: error.message };
  },

  async models(base, key) {
    const { data } = JSON.parse((await run({ base, key }, '/models')).join('\n')) as {
      data: { id: string }[];
    };
    return data.map(({ id }) => id);
  },
};
