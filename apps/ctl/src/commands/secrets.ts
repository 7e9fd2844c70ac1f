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
const warning = ({ unreadable }: Resealed): string | undefined =>
  unreadable.length === 0
    ? undefined
    : `The upstream keys of these models open under neither key: ${unreadable.join(', ')}. Publish them again.`;

export function addSecrets(program: Command, context: Context): void {
  const noun = program.command('secrets').description('what is stored encrypted');
  operation(noun, context, {
    name: 'reseal',
    help: 'seal all upstream keys under SECRET_KEY; opens those under SECRET_KEY_PREVIOUS',
    run: (control) => control.resealSecrets(OPERATOR),
    human,
    warning,
  });
}
