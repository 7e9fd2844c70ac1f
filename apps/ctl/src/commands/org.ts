import type { Control, DeletedOrgView, OrgView, Result } from '@tidegate/control';
import type { Command } from 'commander';
import { CommandError, type Context, OPERATOR } from '../context.ts';
import { type Column, table } from '../output/table.ts';
import { given, type Org, operation } from './verb.ts';

const columns: Column<OrgView>[] = [
  { title: 'Name', cell: (org) => org.name },
  { title: 'Slug', cell: (org) => org.slug },
  { title: 'Plan', cell: (org) => org.plan },
  { title: 'Id', cell: (org) => org.id },
];
const one = (org: OrgView): string => table([org], columns);
const deleted = ({ id, usageDeleted }: DeletedOrgView): string =>
  `${id} is deleted.${usageDeleted ? '' : ' Metering is deleting the rest of its usage.'}`;
const notReached = ({ runnerReached }: DeletedOrgView): string | undefined =>
  runnerReached ? undefined : 'The runner could not be reached: it will end the models once it is back.';

async function listed(control: Control, { org }: Org): Promise<Result<OrgView[]>> {
  const all = await control.listOrgs(OPERATOR);
  if (!all.ok || org === undefined) return all;
  const value = all.value.filter(({ id, slug }) => id === org || slug === org);
  if (value.length === 0) throw new CommandError(`There is no organization "${org}".`);
  return { ok: true, value };
}

export function addOrgCommand(program: Command, context: Context): void {
  const noun = program.command('org').description('organizations');
  operation(noun, context, {
    name: 'create',
    help: 'create an organization',
    org: null,
    flags: [
      { flags: '--name <name>', help: 'its name, 1 to 80 characters', required: true },
      { flags: '--plan <plan>', help: 'its plan (default Free)' },
    ],
    run: (control, { name, plan }: { name: string; plan?: string }) =>
      control.createOrg(OPERATOR, { name, ...given({ plan }) }),
    human: one,
  });
  operation(noun, context, {
    name: 'list',
    help: 'list the organizations',
    org: 'only this one',
    run: listed,
    human: (orgs) => table(orgs, columns),
  });
  operation(noun, context, {
    name: 'set-plan',
    help: 'move an organization to a plan, in force when this returns',
    flags: [{ flags: '--plan <plan>', help: 'the plan', required: true }],
    run: (control, { org, plan }: Org & { plan: string }) =>
      control.setOrgPlan(OPERATOR, { plan, ...given({ org }) }),
    human: one,
  });
  operation(noun, context, {
    name: 'delete',
    help: 'delete an organization with its keys, models, members and usage, for good',
    flags: [{ flags: '--confirm <name>', help: "the organization's name", required: true }],
    run: (control, { org, confirm }: Org & { confirm: string }) =>
      control.deleteOrg(OPERATOR, { confirm, ...given({ org }) }),
    human: deleted,
    warning: notReached,
  });
}
