import { DEFAULT_START_TIMEOUT_S } from '@tidegate/contracts/driver-settings';
import type { ModelDetail } from '@tidegate/control';
import { facts, table, time } from '../output/table.ts';
import { NONE } from '../output/values.ts';
import { printedBy, why } from './model-text.ts';

/** More are in the JSON. */
const MOST_CHANGES = 10;

/** One model, with where it runs. */
export function detailText(model: ModelDetail): string {
  const { condition, conditionReason, conditionAt, down, replicas, changes } = model;
  const state = facts([
    ['Name', model.name],
    ['Id', model.id],
    ['Condition', condition],
    ...(conditionReason ? [['Reason', why(conditionReason)] as const] : []),
    ['Since', time(conditionAt, NONE)],
    ['In flight', model.inFlight ?? 'unknown'],
    ...(replicas ? [['Replicas', `${replicas.up} of ${replicas.total} up`] as const] : []),
    ...down.map(({ baseUrl, reason }) => ['Down', `${baseUrl}: ${reason}`] as const),
  ]);
  const printed = printedBy(conditionReason);
  return [
    state,
    settingsText(model),
    ...(printed.length > 0 ? [['It printed:', ...printed.map((line) => `  ${line}`)].join('\n')] : []),
    table(changes.slice(0, MOST_CHANGES), [
      { title: 'Changed', cell: ({ at }) => time(at, NONE) },
      { title: 'To', cell: (change) => change.condition },
      { title: 'Reason', cell: ({ reason }) => reason ?? '' },
    ]),
  ].join('\n\n');
}

function settingsText({ settings, run, ...model }: ModelDetail): string {
  const seconds = (value: number | null | undefined) => (value == null ? NONE : `${value} s`);
  return facts([
    ['Kind', model.kind],
    ['Mode', model.mode],
    ['Context', model.contextTokens],
    ...(settings?.urls ?? []).map((url) => ['URL', url] as const),
    ...(run?.command ? [['Command', run.command] as const] : []),
    ...(run?.workload
      ? ([
          ['Workload', run.workload],
          ['Service', run.service ?? NONE],
          ['Starts with', run.replicas === null ? 'the default' : `${run.replicas} replicas`],
        ] as const)
      : []),
    ['Upstream model', settings?.upstreamModel ?? NONE],
    ['Upstream key', settings?.hasUpstreamKey ? 'yes' : 'none'],
    ['Health path', settings?.healthPath ?? NONE],
    [
      'Start timeout',
      model.driver === 'external' ? NONE : seconds(settings?.startTimeoutS ?? DEFAULT_START_TIMEOUT_S),
    ],
    ['Sleeps after', seconds(model.sleepAfterS)],
    ['Pool', model.pool],
    ['Cost', model.cost],
    ['Pinned', model.pinned ? 'yes' : 'no'],
    ['Published', time(model.publishedAt, NONE)],
  ]);
}
