import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Notes each of its starts. Goes on once a file has a word in it: fails if that is `fail`, and
 * otherwise listens. Notes the text of each call, in the order in which calls arrive, and answers
 * once the word is `answer`.
 */
const PROGRAM = `
import { appendFileSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
const [notes, word] = process.argv.slice(2);
const note = (line) => appendFileSync(notes, JSON.stringify(line) + '\\n');
const message = { role: 'assistant', content: 'Hello' };
const choices = [{ index: 0, message, finish_reason: 'stop' }];
const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const ANSWER = JSON.stringify({ choices, usage });
const said = () => readFileSync(word, 'utf8');
const until = async (condition) => {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 20));
};
let answering;
let arrived = 0;
const server = createServer(async (request, response) => {
  if (request.method !== 'POST') return response.end('ok');
  const at = arrived++;
  let body = '';
  for await (const piece of request) body += piece;
  note({ at, text: JSON.parse(body).messages[0].content });
  answering ??= until(() => said() === 'answer');
  await answering;
  response.setHeader('content-type', 'application/json').end(ANSWER);
});
note({ start: process.pid });
await until(() => said() !== '');
if (said() === 'fail') process.exit(1);
server.listen(Number(process.env.PORT), '127.0.0.1');
`;

export interface NotingModel {
  /** The command that runs it, as any user. */
  readonly command: string;
  readonly healthPath: string;
  /** How often it was started. */
  starts(): number;
  /** The texts of its calls, in the order in which they arrived. */
  calls(): string[];
  /**
   * Lets this and all later starts go on, or fail. One that listens holds its calls until it may
   * answer.
   */
  say(word: 'listen' | 'answer' | 'fail'): void;
}

interface Note {
  readonly start?: number;
  readonly at?: number;
  readonly text?: string;
}

/** A folder for models that are commands. */
export function modelFolder() {
  const dir = mkdtempSync(join(tmpdir(), 'tidegate-noting-'));
  const program = join(dir, 'model.mjs');
  writeFileSync(program, PROGRAM);
  // Models may run as another user.
  chmodSync(dir, 0o755);
  return {
    dir,
    model(name: string): NotingModel {
      const [notes, word] = [join(dir, `${name}.notes`), join(dir, `${name}.word`)];
      for (const file of [notes, word]) {
        writeFileSync(file, '');
        chmodSync(file, 0o666);
      }
      const noted = (): Note[] =>
        readFileSync(notes, 'utf8')
          .split('\n')
          .filter(Boolean)
          .map((line) => JSON.parse(line) as Note);
      return {
        command: `exec "${process.execPath}" "${program}" "${notes}" "${word}"`,
        healthPath: '/',
        starts: () => noted().filter(({ start }) => start !== undefined).length,
        calls: () =>
          noted()
            .flatMap(({ at, text = '' }) => (at === undefined ? [] : [{ at, text }]))
            .sort((one, other) => one.at - other.at)
            .map(({ text }) => text),
        say: (said) => writeFileSync(word, said),
      };
    },
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}
