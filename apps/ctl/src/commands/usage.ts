import type { UsageRowView, UsageView } from '@tidegate/control';
import type { Command } from 'commander';
import { type Context, OPERATOR, show } from '../context.ts';
import { type Column, count, facts, table, time } from '../output/table.ts';
import { given, verb, whole } from './verb.ts';

const milliseconds = (ms: number | null): string => (ms === null ? '-' : `${count(ms)} ms`);

const rowColumns: Column<UsageRowView>[] = [
  { title: 'Key', cell: (row) => (row.keyPrefix === null ? row.key : `${row.key} (${row.keyPrefix}…)`) },
  { title: 'Model', cell: (row) => row.model + (row.modelDeleted ? ' (deleted)' : '') },
  { title: 'Requests', cell: (row) => row.requests },
  { title: 'Errors', cell: (row) => row.errors },
  { title: 'Tokens in', cell: (row) => row.promptTokens },
  { title: 'Tokens out', cell: (row) => row.completionTokens },
  { title: 'Unreported', cell: (row) => row.reservedTokens },
  { title: 'Average', cell: (row) => milliseconds(row.averageMs) },
];

function usageText({ totals, days, rows, month }: UsageView): string {
  const summary = facts([
    ['Days', `${days[0]?.day} to ${days.at(-1)?.day} (UTC)`],
    ['Requests', totals.requests],
    ['Errors', totals.errors],
    [
      'Tokens',
      `${count(totals.promptTokens)} in, ${count(totals.completionTokens)} out, ${count(totals.reservedTokens)} unreported`,
    ],
    ['Average time', milliseconds(totals.averageMs)],
    [
      'This month',
      `${count(month.requests)} of ${count(month.requestsCap)} requests${month.live ? '' : ' (settled; the limiter is unavailable)'}`,
    ],
    [
      '',
      `${count(month.tokens.charged)} tokens charged, ${count(month.tokens.reserved)} reserved, of ${count(month.tokens.cap)}`,
    ],
    ['Resets', time(month.resetsAt, '')],
  ]);
  const byDay = table(
    days.filter((day) => day.requests > 0),
    [
      { title: 'Day', cell: (day) => day.day },
      { title: 'Answered', cell: (day) => day.answered },
      { title: 'Errors', cell: (day) => day.errors },
    ],
  );
  return rows.length === 0 ? summary : [summary, byDay, table(rows, rowColumns)].join('\n\n');
}

export function addUsage(program: Command, context: Context): void {
  const noun = program.command('usage').description('metered usage');
  verb<{ days?: number }>(
    noun,
    'show',
    'show totals, days, keys and models, and the month',
    [{ flags: '--days <n>', help: 'UTC days up to today (default 30)', parse: whole }],
    ({ org, days, json = false }) =>
      show(context, { json, human: usageText }, (control) =>
        control.showUsage(OPERATOR, given({ org, days })),
      ),
  );
}
