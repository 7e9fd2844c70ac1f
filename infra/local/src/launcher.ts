import { join } from 'node:path';
import { discoverServers, type FoundServer, lackOf } from '@tidegate/control';
import { parseArguments, USAGE } from './arguments.ts';
import { type Discovery, unpublished } from './discovery.ts';
import { dataDirOf, ROOT } from './files.ts';
import type { StackReport } from './options.ts';
import { type Stack, startStack } from './stack.ts';

/** What the launcher needs from a terminal. infra/setup/terminal.mjs is one. */
export interface Terminal {
  phase<T>(title: string, work: (note: (detail: string) => void) => Promise<T>): Promise<T>;
  print(text?: string): void;
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  cyan(text: string): string;
}

/** How many models of a server are named. The others are only counted. */
const SHOWN_MODELS = 5;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Starts the stack, says how to use it, and runs until a signal (Ctrl-C) stops it.
 *
 * @returns the exit code
 * @throws StackError when the stack does not start
 */
export async function launch(args: readonly string[], terminal: Terminal): Promise<number> {
  const requested = parseArguments(args);
  if (requested === null) {
    terminal.print(USAGE);
    return 0;
  }
  const calledOff = new AbortController();
  // A Ctrl-C may reach us twice, from the terminal and from npm. One is enough, because stopping is
  // bounded.
  for (const signal of SIGNALS) process.on(signal, () => calledOff.abort());
  const { signal } = calledOff;
  // This comes first, because our own gateway may take a port that a model server usually has.
  const found = discoverServers();
  let stack: Stack;
  try {
    stack = await startStack({
      ...requested,
      dataDir: dataDirOf(requested.dataDir),
      signal,
      report: reportTo(terminal),
    });
  } catch (error) {
    if (!signal.aborted) throw error;
    terminal.print('\n  Stopped.\n');
    return 0;
  }
  greet(stack, terminal, await unpublished(stack.info.postgres, await found));
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
  terminal.print();
  await terminal.phase('stopping', () => stack.stop());
  terminal.print(`\n  Stopped. ${terminal.dim('The data is kept; npm start continues with it.')}\n`);
  return 0;
}

const reportTo = (terminal: Terminal): StackReport => ({
  phase: (title, work) => terminal.phase(title, work),
  warned: (text) => terminal.print(`  ${terminal.red('!')} ${text}`),
  died: (name, how) => terminal.print(`  ${terminal.red('!')} ${name} died (${how}); starting it again`),
  recovered: (name) => terminal.print(`  ${terminal.green('✓')} ${name} is back`),
});

/**
 * Prints where everything is, how to use it, and which model servers of this machine could be
 * published.
 */
export function greet(
  { info, dataDir }: Pick<Stack, 'info' | 'dataDir'>,
  terminal: Terminal,
  discovery: Discovery = { servers: [], needsOrg: false },
): void {
  const { bold, dim, cyan, print } = terminal;
  const ctl = (args: string) => ctlCommand(dataDir, args);
  const line = (label: string, value: string) => print(`  ${dim(label.padEnd(9))} ${value}`);
  print();
  for (const [i, url] of info.gateways.entries()) line(i === 0 ? 'API' : '', cyan(url));
  if (info.console) line('Console', cyan(info.console));
  if (info.console && process.env.OIDC_ONLY === 'true')
    line('Sign in', 'through your identity provider only (OIDC_ONLY)');
  else if (info.console && info.owner) line('Sign in', `${info.owner.email}  ${info.owner.password}`);
  else if (info.console)
    line('Sign in', `with your account. To create the first one: ${ctl('bootstrap --help')}`);
  if (info.apiKey) line('API key', info.apiKey);
  if (info.models.length > 0)
    line('Models', `${info.models.join(', ')} ${dim('(stand-ins, not real models)')}`);
  if (info.prometheus) line('Metrics', cyan(info.prometheus));
  line('Logs', `${dataDir}/logs`);
  const model = info.models[0];
  if (info.apiKey && model) {
    print(`\n  ${bold('Try it')}\n`);
    print(curl(info.gateway, info.apiKey, model));
  }
  if (discovery.servers.length > 0) {
    print(`\n  ${bold('Found on this machine')}\n`);
    for (const server of discovery.servers)
      print(
        `  ${lackOf(server, ctl) ?? `${server.server} at ${cyan(server.url)}: ${namesOf(server.models)}`}`,
      );
    if (discovery.needsOrg) print(`\n  First:      ${ctl("org create --name 'My organization'")}`);
    const org = info.org ? ` --org ${info.org}` : '';
    if (discovery.servers.some(({ models }) => models.length > 0))
      print(`\n  To publish: ${ctl(`model discover --publish${org}`)}`);
  }
  print(`\n  ${dim(`Manage it with ${ctl('--help')}. Ctrl-C stops everything.`)}\n`);
}

/** A command for a shell. It names the data folder unless it is the default one. */
const ctlCommand = (dataDir: string, args: string): string => {
  const where = `TIDEGATE_DATA_DIR='${dataDir.replaceAll("'", "'\\''")}' `;
  return `${dataDir === join(ROOT, '.local') ? '' : where}npm run -s ctl -- ${args}`;
};

const namesOf = (models: FoundServer['models']): string => {
  const more = models.length - SHOWN_MODELS;
  const names = models.slice(0, SHOWN_MODELS).map(({ name }) => name);
  return names.join(', ') + (more > 0 ? ` and ${more} more` : '');
};

const curl = (gateway: string, apiKey: string, model: string): string => {
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello!' }] });
  return `curl ${gateway}/chat/completions -H 'Authorization: Bearer ${apiKey}' -H 'Content-Type: application/json' -d '${body}'`;
};
