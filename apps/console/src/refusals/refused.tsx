import type { RefusalsView } from '@tidegate/control';
import { ErrorsChart } from '../errors/errors-chart.tsx';
import { whole } from '../ui/numbers.ts';
import { Panel } from '../ui/page.tsx';
import { CausesTable, RefusedKeysTable, RefusedModelsTable } from './refusals-tables.tsx';
import { wordsOf } from './words.ts';

interface RefusedProps {
  readonly org: string;
  /** `24 hours` */
  readonly period: string;
  readonly refusals: RefusalsView;
}

const MOST = 'Those with the most refusals, at most 10.';
const UNCOUNTED =
  'Requests of valid keys that were refused before they were counted. They count towards no usage, quota or limit.';

/** Why requests were refused: the answer to "why do we get 429". */
export function Refused({ org, period, refusals }: RefusedProps) {
  if (refusals.total === 0)
    return (
      <Panel id="refused" title="Nothing was refused" lead={UNCOUNTED}>
        <p className="px-5 pb-6 text-sm text-muted">No request in the last {period} was refused.</p>
      </Panel>
    );
  return (
    <>
      <Panel
        id="refused"
        title={`${whole(refusals.total)} refused`}
        lead={`${UNCOUNTED} In the last ${period}, by ${refusals.step} (UTC).`}
      >
        <ErrorsChart errors={drawn(refusals)} caption="Refusals by cause over time" />
      </Panel>
      <Panel title="Refused, by cause" lead="Most frequent first.">
        <CausesTable org={org} refusals={refusals} />
      </Panel>
      <div className="grid items-start gap-6 lg:grid-cols-2">
        <Panel title="Refused, by key" lead={MOST}>
          <RefusedKeysTable org={org} refusals={refusals} />
        </Panel>
        {refusals.models.length === 0 ? null : (
          <Panel
            title="Refused, by model"
            lead={`${MOST} Requests that named none of your models are left out.`}
          >
            <RefusedModelsTable org={org} refusals={refusals} />
          </Panel>
        )}
      </div>
    </>
  );
}

/** The refusals in the form that the chart of errors takes, named by their titles. */
function drawn({ causes, steps, step, plan }: RefusalsView) {
  const titleOf = (name: string) => wordsOf(name, { plan, key: null }).title;
  return {
    step,
    codes: causes.map(({ code, cause }) => ({ code: titleOf(cause ?? code) })),
    steps: steps.map(({ at, causes: counts }) => ({
      at,
      codes: Object.fromEntries(Object.entries(counts).map(([name, count]) => [titleOf(name), count])),
    })),
  };
}
