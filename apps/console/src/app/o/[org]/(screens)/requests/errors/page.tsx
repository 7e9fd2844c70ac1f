import type { ErrorsPeriod, ErrorsView } from '@tidegate/control';
import type { Metadata } from 'next';
import { ErrorsChart } from '#errors/errors-chart.tsx';
import { ErrorCodesTable, ErrorKeysTable, ErrorModelsTable } from '#errors/errors-tables.tsx';
import { Refused } from '#refusals/refused.tsx';
import { services } from '#server/services.ts';
import { read, requireOrg } from '#session/current.ts';
import { Link } from '#ui/link.tsx';
import { whole } from '#ui/numbers.ts';
import { Empty, Note, PageHeader, Panel } from '#ui/page.tsx';
import type { Query } from '#ui/query.ts';
import { Time } from '#ui/time.tsx';

export const metadata: Metadata = { title: 'Errors' };

const PERIODS: Readonly<Record<ErrorsPeriod, string>> = {
  '24h': '24 hours',
  '7d': '7 days',
  '30d': '30 days',
};

/** The same periods, as `showRefusals` takes them. */
const SPANS = { '24h': { hours: 24 }, '7d': { days: 7 }, '30d': { days: 30 } } as const satisfies Record<
  ErrorsPeriod,
  object
>;

interface ErrorsProps {
  readonly params: Promise<{ org: string }>;
  readonly searchParams: Promise<Query>;
}

export default async function Errors({ params, searchParams }: ErrorsProps) {
  const { actor, org } = await requireOrg((await params).org);
  const { period: wanted } = await searchParams;
  const period = isPeriod(wanted) ? wanted : '24h';
  const { control } = services();
  const at = { org: org.slug };
  const [counted, refused] = await Promise.all([
    control.showErrors(actor, { ...at, period }),
    control.showRefusals(actor, { ...at, ...SPANS[period] }),
  ]);
  const errors = read(counted);
  const path = `/o/${org.slug}/requests`;
  return (
    <>
      <PageHeader
        back={{ href: path, name: 'Requests' }}
        title="Errors"
        lead={
          <>
            Why counted requests got no complete answer. Below that:{' '}
            <a href="#refused" className="inline-link">
              why requests were refused
            </a>
            , for example because they were over a limit or a quota (429), named an unknown or stopped model,
            or had an invalid body. Requests without a valid key belong to no organization and are not shown
            here.
          </>
        }
        actions={<Periods path={`${path}/errors`} shown={errors.period} />}
      />
      <div className="space-y-6">
        {errors.countedFrom === null ? null : (
          <Note kind="warning">
            There are too many errors to count. These are the newest {whole(errors.total)}, since{' '}
            <Time iso={errors.countedFrom} exact />.
          </Note>
        )}
        {errors.total === 0 ? <Nothing period={errors.period} /> : <Counts path={path} errors={errors} />}
        <Refused org={org.slug} period={PERIODS[errors.period]} refusals={read(refused)} />
      </div>
    </>
  );
}

const isPeriod = (value: unknown): value is ErrorsPeriod =>
  typeof value === 'string' && Object.hasOwn(PERIODS, value);

function Periods({ path, shown }: { path: string; shown: ErrorsPeriod }) {
  return (
    <nav className="flex gap-2" aria-label="Period">
      {Object.entries(PERIODS).map(([period, name]) => (
        <Link
          key={period}
          href={`${path}?period=${period}`}
          aria-current={period === shown ? 'page' : undefined}
          className={`button button--sm ${period === shown ? 'button--secondary' : 'button--ghost'}`}
        >
          {name}
        </Link>
      ))}
    </nav>
  );
}

const Nothing = ({ period }: { period: ErrorsPeriod }) => (
  <section className="card-surface" aria-label="Errors">
    <Empty icon={<span className="icon-check size-5" aria-hidden />} title="Nothing failed">
      No counted request in the last {PERIODS[period]} failed.
    </Empty>
  </section>
);

const MOST = 'Those with the most errors, at most 10.';

function Counts({ path, errors }: { path: string; errors: ErrorsView }) {
  return (
    <>
      <Panel
        title={`${whole(errors.total)} ${errors.total === 1 ? 'error' : 'errors'}`}
        lead={`In the last ${PERIODS[errors.period]}, by ${errors.step} (UTC).`}
      >
        <ErrorsChart errors={errors} caption="Errors by code over time" />
      </Panel>
      <Panel title="By code" lead="Most frequent first. Select a code to see its requests.">
        <ErrorCodesTable path={path} errors={errors} />
      </Panel>
      <div className="grid items-start gap-6 lg:grid-cols-2">
        <Panel title="By key" lead={MOST}>
          <ErrorKeysTable path={path} errors={errors} />
        </Panel>
        <Panel title="By model" lead={MOST}>
          <ErrorModelsTable path={path} errors={errors} />
        </Panel>
      </div>
    </>
  );
}
