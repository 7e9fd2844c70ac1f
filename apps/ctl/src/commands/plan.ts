import type { PlanView, SetPlanInput } from '@tidegate/control';
import { eachPlanLimit, PLAN_LIMITS, type PlanLimitName } from '@tidegate/limits';
import type { Command } from 'commander';
import { type Context, OPERATOR } from '../context.ts';
import { type Column, table } from '../output/table.ts';
import { given, operation, toWhole, yesNo } from './verb.ts';

const limits = Object.entries(PLAN_LIMITS).map(([name, limit]) => ({
  name: name as PlanLimitName,
  ...limit,
}));

const columns: Column<PlanView>[] = [
  { title: 'Name', cell: (plan) => plan.name },
  ...limits.map(({ name, column }) => ({ title: column, cell: (plan: PlanView) => plan[name] })),
  { title: 'Images', cell: (plan) => (plan.images ? 'yes' : 'no') },
  { title: 'Offered', cell: (plan) => (plan.offered ? 'yes' : 'no') },
];

interface SetFlags {
  readonly name: string;
  readonly images?: boolean;
  readonly offered?: boolean;
  /** Numbers, one for each limit that is given. */
  readonly [limit: string]: unknown;
}

const setFlags = [
  { flags: '--name <name>', help: 'the plan; a new one needs all limits', required: true },
  ...limits.map(({ flag, help }) => ({ flags: `--${flag} <n>`, help, parse: toWhole })),
  { flags: '--images <true|false>', help: 'whether images may be sent', parse: yesNo },
  {
    flags: '--offered <true|false>',
    help: 'whether owners may choose it (a new one: false)',
    parse: yesNo,
  },
];

/** Commander's name for a flag: `requestsMonth` for `requests-month`. */
const optionOf = (flag: string): string =>
  flag.replace(/-(\w)/g, (_dash, letter: string) => letter.toUpperCase());

const planOf = ({ name, images, offered, ...numbers }: SetFlags): SetPlanInput => ({
  name,
  ...given({
    ...eachPlanLimit((_name, { flag }) => numbers[optionOf(flag)] as number | undefined),
    images,
    offered,
  }),
});

export function addPlanCommand(program: Command, context: Context): void {
  const noun = program.command('plan').description('plans and their limits');
  operation(noun, context, {
    name: 'list',
    help: 'list the plans',
    org: null,
    run: (control) => control.listPlans(OPERATOR),
    human: (plans) => table(plans, columns),
  });
  operation(noun, context, {
    name: 'set',
    help: 'set values of a plan, in force when this returns',
    org: null,
    flags: setFlags,
    run: (control, flags: SetFlags) => control.setPlan(OPERATOR, planOf(flags)),
    human: (plan) => table([plan], columns),
  });
}
