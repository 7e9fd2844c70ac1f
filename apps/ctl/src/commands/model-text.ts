import type { ListedModelView, ModelNow } from '@tidegate/control';
import { type Column, table } from '../output/table.ts';

/** The first line of a reason says why. The lines below are what the model's process printed. */
export const why = (reason: string): string => reason.split('\n', 1)[0] ?? '';
export const printedBy = (reason: string | null): string[] => reason?.split('\n').slice(1) ?? [];

/** A condition, and how many replicas of several can be called. */
const conditionOf = ({ condition, conditionReason, replicas }: ModelNow) =>
  condition +
  (replicas ? ` (${replicas.up} of ${replicas.total} up)` : '') +
  (conditionReason ? ` (${why(conditionReason)})` : '');

const columns: Column<ModelNow>[] = [
  { title: 'Name', cell: (model) => model.name },
  { title: 'Kind', cell: (model) => model.kind },
  { title: 'Mode', cell: (model) => model.mode },
  { title: 'Context', cell: (model) => model.contextTokens },
  { title: 'Driver', cell: (model) => model.driver },
  { title: 'Pool', cell: (model) => model.pool },
  { title: 'Condition', cell: conditionOf },
  { title: 'Id', cell: (model) => model.id },
];
/** The count comes before the id, which is last in every table. */
const listColumns: Column<ListedModelView>[] = [
  ...columns.slice(0, -1),
  { title: 'In flight', cell: ({ inFlight }) => inFlight ?? 'unknown' },
  ...columns.slice(-1),
];
/** The table. Below it are the last lines of processes that could not be started. */
const listing = <T extends ModelNow>(models: readonly T[], shown: readonly Column<T>[]): string =>
  [
    table(models, shown),
    ...models
      .filter(({ conditionReason }) => printedBy(conditionReason).length > 0)
      .map(({ name, conditionReason }) =>
        [`${name} printed:`, ...printedBy(conditionReason).map((line) => `  ${line}`)].join('\n'),
      ),
  ].join('\n\n');
export const one = (model: ModelNow): string => listing([model], columns);
export const listed = (models: readonly ListedModelView[]): string => listing(models, listColumns);
