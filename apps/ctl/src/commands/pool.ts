import type { PoolView } from '@tidegate/control';
import type { Command } from 'commander';
import { type Context, OPERATOR } from '../context.ts';
import { type Column, table } from '../output/table.ts';
import { NONE } from '../output/values.ts';
import { operation, toWhole } from './verb.ts';

const columns: Column<PoolView>[] = [
  { title: 'Name', cell: (pool) => pool.name },
  { title: 'Capacity', cell: (pool) => pool.capacity ?? 'no limit' },
  { title: 'Always on', cell: (pool) => pool.permanent },
  { title: 'In use', cell: (pool) => pool.inUse ?? NONE },
  { title: 'Waiting', cell: (pool) => pool.waiting ?? NONE },
  { title: 'Models', cell: (pool) => pool.models },
];

const setFlags = [
  { flags: '--name <pool>', help: 'the pool', required: true },
  {
    flags: '--capacity <n>',
    help: 'the capacity that its models share, in the unit of their --cost; 0 means no limit',
    required: true,
    parse: toWhole,
  },
];

export function addPoolCommand(program: Command, context: Context): void {
  const noun = program
    .command('pool')
    .description('pools of runners, and the capacity that their models share');
  operation(noun, context, {
    name: 'list',
    help: 'list the pools',
    org: null,
    run: (control) => control.listPools(OPERATOR),
    human: (pools) => table(pools, columns),
  });
  operation(noun, context, {
    name: 'set',
    help: 'set the capacity that the models of a pool share',
    org: null,
    flags: setFlags,
    run: (control, { name, capacity }: { name: string; capacity: number }) =>
      control.setPool(OPERATOR, { name, capacity }),
    human: (pool) => table([pool], columns),
    warning: ({ runnerReached }) =>
      runnerReached
        ? undefined
        : 'Saved, but the runner could not be reached. It notices within half a minute of being back.',
  });
}
