import { readSecret } from './input.ts';
import { run } from './run.ts';

process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
  // A reader such as `head` may stop early, and that says nothing about this command.
  if (code !== 'EPIPE') process.stderr.write(`The output could not be written (${code}).\n`);
  process.exitCode = 1;
});
process.stderr.on('error', () => undefined);

const status = await run(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  readSecret: (prompt) => readSecret(process.stdin, prompt, process.stderr),
});
process.exitCode ||= status;
