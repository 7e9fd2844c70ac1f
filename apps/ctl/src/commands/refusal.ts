import type { RefusalsView } from '@tidegate/control';
import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { facts, table, time } from '../output/table.ts';
import { keyText, modelText } from '../output/values.ts';
import { refusalsMatching } from './request-filter.ts';
import { given, type Org, operation, toWhole } from './verb.ts';

const REFUSED = { title: 'Refused', cell: ({ refusals }: { refusals: number }) => refusals };

function refusalsText({ step, from, steps, total, causes, keys, models }: RefusalsView): string {
  const period = `${steps.length} ${steps.length === 1 ? step : `${step}s`} since ${time(from, '')}`;
  const summary = facts([
    ['Period', period],
    ['Refused', total],
  ]);
  if (total === 0) return summary;
  return [
    summary,
    table(causes, [
      { title: 'Cause', cell: ({ cause, code }) => cause ?? code },
      { title: 'Code', cell: ({ code }) => code },
      REFUSED,
      { title: 'First hour', cell: ({ firstHour }) => time(firstHour, '') },
      { title: 'Last hour', cell: ({ lastHour }) => time(lastHour, '') },
    ]),
    table(keys, [
      { title: 'Key', cell: keyText },
      REFUSED,
      { title: 'Requests/min', cell: ({ requestsPerMinute }) => requestsPerMinute },
      { title: 'At once', cell: ({ requestsAtOnce }) => requestsAtOnce },
    ]),
    // None, if all were refused before a model was found.
    ...(models.length > 0 ? [modelsTable(models)] : []),
  ].join('\n\n');
}

const modelsTable = (models: RefusalsView['models']): string =>
  table(models, [{ title: 'Model', cell: modelText }, REFUSED]);

interface ShowFlags extends Org {
  readonly hours?: number;
  readonly days?: number;
  readonly key?: string;
}

export function addRefusalCommand(program: Command, context: Context): void {
  const noun = program.command('refusal').description('requests that were refused before they were counted');
  operation(noun, context, {
    name: 'show',
    help: 'count refusals by cause, key and model',
    flags: [
      { flags: '--hours <n>', help: 'UTC hours up to now, up to 72 (default 24)', parse: toWhole },
      { flags: '--days <n>', help: 'instead: UTC days up to today, up to 35', parse: toWhole },
      { flags: '--key <id>', help: 'only of this key' },
    ],
    run: (control, { org, hours, days, key }: ShowFlags) =>
      refusalsMatching(control, given({ org, hours, days, keyId: key })),
    human: refusalsText,
  });
}
