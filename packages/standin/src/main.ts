#!/usr/bin/env node
import { parseFlags, USAGE } from './options.ts';
import { startStandin } from './server.ts';

const fail = (problem: string): never => {
  process.stderr.write(`${problem}\n`);
  process.exit(1);
};

const flags = parseFlags(process.argv.slice(2));
if (!flags.ok) fail(`${flags.problem}\n${USAGE}`);
else {
  const standin = await startStandin({ ...flags.value, exit: () => process.exit(1) }).catch((error: Error) =>
    fail(`cannot listen on ${flags.value.host}:${flags.value.port}: ${error.message}`),
  );
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => void standin.close().then(() => process.exit(0)));
  }
  process.stdout.write(`listening on ${standin.url}\n`);
}
