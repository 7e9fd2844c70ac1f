import type { Resealed } from '@tidegate/control';
import type { Command } from 'commander';
import { type Context, OPERATOR, show } from '../context.ts';
import { facts } from '../output/table.ts';
import { verb } from './verb.ts';

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
  verb(
    noun,
    'reseal',
    'seal all upstream keys under SECRET_KEY; opens those under SECRET_KEY_PREVIOUS',
    [],
    ({ json = false }) =>
      show(context, { json, human, warning }, (control) => control.resealSecrets(OPERATOR)),
  );
}
