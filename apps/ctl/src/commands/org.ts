import type { DeletedOrgView, OrgView } from '@tidegate/control';
import type { Command } from 'commander';
import { type Context, OPERATOR, show } from '../context.ts';
import { type Column, table } from '../output/table.ts';
import { given, verb } from './verb.ts';

const columns: Column<OrgView>[] = [
  { title: 'Name', cell: (org) => org.name },
  { title: 'Slug', cell: (org) => org.slug },
  { title: 'Plan', cell: (org) => org.plan },
  { title: 'Id', cell: (org) => org.id },
];
const one = (org: OrgView): string => table([org], columns);
const deleted = ({ id, usageDeleted }: DeletedOrgView): string =>
  `${id} is deleted.${usageDeleted ? '' : ' Metering is deleting the rest of its usage.'}`;
const untold = ({ runnerTold }: DeletedOrgView): string | undefined =>
  runnerTold ? undefined : 'The runner could not be reached: it ends the models once it is back.';

export function addOrg(program: Command, context: Context): void {
  const noun = program.command('org').description('organizations');
  verb<{ name: string; plan?: string }>(
    noun,
    'create',
    'create an organization',
    [
      { flags: '--name <name>', help: 'its name, 1 to 80 characters', required: true },
      { flags: '--plan <plan>', help: 'its plan (default Free)' },
    ],
    ({ name, plan, json = false }) =>
      show(context, { json, human: one }, (control) =>
        control.createOrg(OPERATOR, { name, ...given({ plan }) }),
      ),
  );
  verb(noun, 'list', 'list the organizations', [], ({ json = false }) =>
    show(context, { json, human: (orgs: OrgView[]) => table(orgs, columns) }, (control) =>
      control.listOrgs(OPERATOR),
    ),
  );
  verb<{ plan: string }>(
    noun,
    'set-plan',
    'move an organization to a plan, in force when this returns',
    [{ flags: '--plan <plan>', help: 'the plan', required: true }],
    ({ org, plan, json = false }) =>
      show(context, { json, human: one }, (control) =>
        control.setOrgPlan(OPERATOR, { plan, ...given({ org }) }),
      ),
  );
  verb<{ confirm: string }>(
    noun,
    'delete',
    'delete an organization with its keys, models, members and usage, for good',
    [{ flags: '--confirm <name>', help: "the organization's name", required: true }],
    ({ org, confirm, json = false }) =>
      show(context, { json, human: deleted, warning: untold }, (control) =>
        control.deleteOrg(OPERATOR, { confirm, ...given({ org }) }),
      ),
  );
}
