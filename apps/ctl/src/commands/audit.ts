import type { AuditPage, AuditView } from '@tidegate/control';
import type { Command } from 'commander';
import { CommandError, type Context, OPERATOR } from '../context.ts';
import { type Column, table, time } from '../output/table.ts';
import { given, type Org, operation, toWhole } from './verb.ts';

const columns: Column<AuditView>[] = [
  { title: 'Time', cell: (event) => time(event.at, '') },
  { title: 'Actor', cell: (event) => event.actor },
  { title: 'Action', cell: (event) => event.action },
  { title: 'Target', cell: (event) => event.target },
  { title: 'Details', cell: (event) => JSON.stringify(event.details) },
];

const pageText = ({ events, next }: AuditPage): string =>
  table(events, columns) + (next === null ? '' : `\n\nOlder ones: --before ${next}`);

interface ListFlags extends Org {
  readonly installation?: boolean;
  readonly actor?: string;
  readonly action?: string;
  readonly from?: string;
  readonly to?: string;
  readonly before?: string;
  readonly limit?: number;
}

export function addAuditCommand(program: Command, context: Context): void {
  const noun = program.command('audit').description('who did what');
  operation(noun, context, {
    name: 'list',
    help: "list the events of an organization's trail, or of the installation's, newest first",
    flags: [
      {
        flags: '--installation',
        help: 'instead of an organization: what operators did to plans, pools, accounts, secrets and the queue, and which organizations they deleted',
      },
      { flags: '--actor <name>', help: 'only by this e-mail or operator, such as "ctl (alice)"' },
      { flags: '--action <a>', help: 'only this action, such as key.create, or key for all of its actions' },
      { flags: '--from <day>', help: 'from this UTC day: YYYY-MM-DD' },
      { flags: '--to <day>', help: 'to the end of this UTC day' },
      { flags: '--before <next>', help: 'continue from here: the `next` of the page before' },
      { flags: '--limit <n>', help: 'at most this many, up to 200 (default 50)', parse: toWhole },
    ],
    run: (control, { installation, org, actor, action, from, to, before, limit }: ListFlags) => {
      const filter = given({ actor, action, from, to, before, limit });
      if (!installation) return control.listAudit(OPERATOR, { ...given({ org }), ...filter });
      if (org !== undefined) throw new CommandError('Give --org or --installation, not both.');
      return control.listInstallationAudit(OPERATOR, filter);
    },
    human: pageText,
  });
}
