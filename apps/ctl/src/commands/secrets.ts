import type { Resealed } from '@tidegate/control';
import type { Command } from 'commander';
import { type Context, OPERATOR } from '../context.ts';
import { facts } from '../output/table.ts';
import { operation } from './verb.ts';

const human = ({ resealed, unchanged, unreadable }: Resealed): string =>
  facts([
    ['Resealed', resealed],
    ['Unchanged', unchanged],
    ['Unreadable', unreadable.length],
  ]);
const notReached = ({ runnerReached }: Resealed): string | undefined =>
  runnerReached
    ? undefined
    : 'Not every runner could be reached. Those that were not told will read the keys when they are back.';

/** Deleted models no longer need a key. */
function unopened({ unreadableModels }: Resealed): string | undefined {
  const models = unreadableModels.filter(({ deleted }) => !deleted);
  if (models.length === 0) return undefined;
  return [
    'Neither key unseals these upstream keys:',
    ...models.map(({ org, name, id }) => `  ${org}: ${name} (${id})`),
    'Set SECRET_KEY_PREVIOUS to the key that they were sealed with, and run this again.',
    'If that key is lost, give the upstream key again: ctl model set --org ORG --name NAME --upstream-key-stdin',
  ].join('\n');
}

export function addSecretsCommand(program: Command, context: Context): void {
  const noun = program.command('secrets').description('what is stored encrypted');
  operation(noun, context, {
    name: 'reseal',
    help: 'seal all upstream keys under SECRET_KEY, including those under SECRET_KEY_PREVIOUS',
    org: null,
    run: (control) => control.resealSecrets(OPERATOR),
    human,
    warning: notReached,
    failure: unopened,
  });
}
