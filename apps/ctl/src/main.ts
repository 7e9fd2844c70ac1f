import { readSecret } from './input.ts';
import { run } from './run.ts';

process.exitCode = await run(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  readSecret: (prompt) => readSecret(process.stdin, prompt, process.stderr),
});
