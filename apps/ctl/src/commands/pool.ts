import type { PoolView } from '@tidegate/control';
import type { Command } from 'commander';
import { type Context, OPERATOR, show } from '../context.ts';
import { type Column, table } from '../output/table.ts';
import { verb, whole } from './verb.ts';

const columns: Column<PoolView>[] = [
  { title: 'Name', cell: (pool) => pool.name },
  { title: 'Capacity', cell: (pool) => pool.capacity ?? 'no limit' },
  { title: 'Always on', cell: (pool) => pool.permanent },
  { title: 'Models', cell: (pool) => pool.models },
];

const setFlags = [
  { flags: '--name <pool>', help: 'the pool', required: true },
  {
    flags: '--capacity <n>',
    help: 'what its models share, in the unit of their --cost; 0 is no limit',
    required: true,
    parse: whole,
  },
];

export function addPool(program: Command, context: Context): void {
  const noun = program.command('pool').description('pools of runners, and what their models share');
  verb(noun, 'list', 'list the pools', [], ({ json = false }) =>
    show(context, { json, human: (pools: PoolView[]) => table(pools, columns) }, (control) =>
      control.listPools(OPERATOR),
    ),
  );
  verb<{ name: string; capacity: number }>(
    noun,
    'set',
    'set what the models of a pool share; its runner notices within half a minute',
    setFlags,
    ({ json = false, name, capacity }) =>
      show(context, { json, human: (pool: PoolView) => table([pool], columns) }, (control) =>
        control.setPool(OPERATOR, { name, capacity }),
      ),
  );
}
