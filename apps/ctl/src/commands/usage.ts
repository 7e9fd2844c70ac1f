import type { UsageModelView, UsageRowView, UsageView } from '@tidegate/control';
import type { Command } from 'commander';
import { type Context, OPERATOR } from '../context.ts';
import { type Column, countText, facts, table, time } from '../output/table.ts';
import { keyText, milliseconds, modelText } from '../output/values.ts';
import { given, type Org, operation, toWhole } from './verb.ts';

const rowColumns: Column<UsageRowView>[] = [
  { title: 'Key', cell: keyText },
  { title: 'Model', cell: modelText },
  { title: 'Requests', cell: (row) => row.requests },
  { title: 'Errors', cell: (row) => row.errors },
  { title: 'Tokens in', cell: (row) => row.promptTokens },
  { title: 'Tokens out', cell: (row) => row.completionTokens },
  { title: 'Unreported', cell: (row) => row.reservedTokens },
  { title: 'Average', cell: (row) => milliseconds(row.averageMs) },
];

const modelColumns: Column<UsageModelView>[] = [
  { title: 'Model', cell: modelText },
  { title: 'Requests', cell: (row) => row.requests },
  { title: 'Errors', cell: (row) => row.errors },
  { title: 'Average', cell: (row) => milliseconds(row.averageMs) },
  { title: 'p50', cell: (row) => milliseconds(row.p50Ms) },
  { title: 'p95', cell: (row) => milliseconds(row.p95Ms) },
  { title: 'First chunk p50', cell: (row) => milliseconds(row.firstChunkP50Ms) },
  { title: 'First chunk p95', cell: (row) => milliseconds(row.firstChunkP95Ms) },
];

/** The days or the hours that there are, oldest first. */
const stepsOf = ({ days, hours }: UsageView) =>
  hours.length > 0
    ? { title: 'Hour', steps: hours.map(({ hour, ...counts }) => ({ at: time(hour, ''), ...counts })) }
    : { title: 'Day', steps: days.map(({ day, ...counts }) => ({ at: day, ...counts })) };

function usageText(usage: UsageView): string {
  const { totals, models, rows, month } = usage;
  const { title, steps } = stepsOf(usage);
  const summary = facts([
    [`${title}s`, `${steps[0]?.at} to ${steps.at(-1)?.at} (UTC)`],
    ['Requests', totals.requests],
    ['Errors', totals.errors],
    [
      'Tokens',
      `${countText(totals.promptTokens)} in, ${countText(totals.completionTokens)} out, ${countText(totals.reservedTokens)} unreported`,
    ],
    [
      'Average time',
      `${milliseconds(totals.averageMs)} (p50 ${milliseconds(totals.p50Ms)}, p95 ${milliseconds(totals.p95Ms)})`,
    ],
    [
      'First chunk',
      `p50 ${milliseconds(totals.firstChunkP50Ms)}, p95 ${milliseconds(totals.firstChunkP95Ms)}`,
    ],
    [
      'This month',
      `${countText(month.requests)} of ${countText(month.requestsCap)} requests${month.live ? '' : ' (settled; the limiter is unavailable)'}`,
    ],
    [
      '',
      `${countText(month.tokens.charged)} tokens charged, ${countText(month.tokens.reserved)} reserved, of ${countText(month.tokens.cap)}`,
    ],
    ['Resets', time(month.resetsAt, '')],
  ]);
  const byStep = table(
    steps.filter(({ requests }) => requests > 0),
    [
      { title, cell: ({ at }) => at },
      { title: 'Answered', cell: ({ answered }) => answered },
      { title: 'Errors', cell: ({ errors }) => errors },
    ],
  );
  if (rows.length === 0) return summary;
  return [summary, byStep, table(models, modelColumns), table(rows, rowColumns)].join('\n\n');
}

export function addUsageCommand(program: Command, context: Context): void {
  const noun = program.command('usage').description('metered usage');
  operation(noun, context, {
    name: 'show',
    help: 'show totals, days or hours, models, keys and models, and the month',
    flags: [
      { flags: '--days <n>', help: 'UTC days up to today, at most 366 (default 30)', parse: toWhole },
      {
        flags: '--hours <n>',
        help: 'UTC hours up to this one, at most 168, instead of days',
        parse: toWhole,
      },
    ],
    run: (control, { org, days, hours }: Org & { days?: number; hours?: number }) =>
      control.showUsage(OPERATOR, given({ org, days, hours })),
    human: usageText,
  });
}
