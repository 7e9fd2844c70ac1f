import type { PlanView, SetPlanInput } from '@tidegate/control';
import type { Command } from 'commander';
import { type Context, OPERATOR, show } from '../context.ts';
import { type Column, table } from '../output/table.ts';
import { given, verb, whole, yesNo } from './verb.ts';

const columns: Column<PlanView>[] = [
  { title: 'Name', cell: (plan) => plan.name },
  { title: 'Keys', cell: (plan) => plan.keys },
  { title: 'Requests/month', cell: (plan) => plan.requestsPerMonth },
  { title: 'Requests/min', cell: (plan) => plan.requestsPerMinute },
  { title: 'At once', cell: (plan) => plan.requestsAtOnce },
  { title: 'Tokens/month', cell: (plan) => plan.tokensPerMonth },
  { title: 'Images', cell: (plan) => (plan.images ? 'yes' : 'no') },
];

interface SetFlags {
  readonly name: string;
  readonly keys?: number;
  readonly requestsMonth?: number;
  readonly requestsMinute?: number;
  readonly requestsAtOnce?: number;
  readonly tokensMonth?: number;
  readonly images?: boolean;
}

const setFlags = [
  { flags: '--name <name>', help: 'the plan; a new one needs all values', required: true },
  { flags: '--keys <n>', help: 'most keys that are not revoked', parse: whole },
  { flags: '--requests-month <n>', help: 'requests a month', parse: whole },
  { flags: '--requests-minute <n>', help: 'requests in any 60 seconds', parse: whole },
  { flags: '--requests-at-once <n>', help: 'requests in progress at once', parse: whole },
  { flags: '--tokens-month <n>', help: 'tokens a month', parse: whole },
  { flags: '--images <true|false>', help: 'whether images may be sent', parse: yesNo },
];

const planOf = (flags: SetFlags): SetPlanInput => ({
  name: flags.name,
  ...given({
    keys: flags.keys,
    requestsPerMonth: flags.requestsMonth,
    requestsPerMinute: flags.requestsMinute,
    requestsAtOnce: flags.requestsAtOnce,
    tokensPerMonth: flags.tokensMonth,
    images: flags.images,
  }),
});

export function addPlan(program: Command, context: Context): void {
  const noun = program.command('plan').description('plans and their limits');
  verb(noun, 'list', 'list the plans', [], ({ json = false }) =>
    show(context, { json, human: (plans: PlanView[]) => table(plans, columns) }, (control) =>
      control.listPlans(OPERATOR),
    ),
  );
  verb<SetFlags>(
    noun,
    'set',
    'set values of a plan, in force when this returns',
    setFlags,
    ({ json = false, ...flags }) =>
      show(context, { json, human: (plan: PlanView) => table([plan], columns) }, (control) =>
        control.setPlan(OPERATOR, planOf(flags)),
      ),
  );
}
