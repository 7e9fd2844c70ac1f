import type { Metadata } from 'next';
import { sentWith } from '#requests/choices.ts';
import { CodeAdvice } from '#requests/code-advice.tsx';
import { ENDS } from '#requests/ends.ts';
import { beforeOf, requestQueryOf } from '#requests/filter.ts';
import { RequestFilters } from '#requests/filters.tsx';
import { keyChoices } from '#requests/key-name.ts';
import { loadRequests } from '#requests/load.ts';
import { RequestsTable } from '#requests/requests-table.tsx';
import { Tail } from '#requests/tail.tsx';
import { unknownIn } from '#requests/unknown.ts';
import { requireOrg } from '#session/current.ts';
import { Link } from '#ui/link.tsx';
import { Empty, Note, PageHeader } from '#ui/page.tsx';
import { Pages } from '#ui/pages.tsx';
import type { Query } from '#ui/query.ts';

export const metadata: Metadata = { title: 'Requests' };

interface RequestsProps {
  readonly params: Promise<{ org: string }>;
  readonly searchParams: Promise<Query>;
}

const UNDER_WAY = {
  open: 'This request is in progress.',
  queued: 'This request has ended. It will be in the list in a moment.',
} as const;

export default async function Requests({ params, searchParams }: RequestsProps) {
  const { actor, org } = await requireOrg((await params).org);
  const query = await searchParams;
  const { filter, page, state, reason, code, keys, models } = await loadRequests(actor, org.slug, query);
  const choices = {
    keys: keyChoices(keys, filter.key),
    models: models.map(({ id, name }) => ({ id, name })),
  };
  const unknown = unknownIn(filter, choices);
  const isNewest = beforeOf(query) === '';
  const path = `/o/${org.slug}/requests`;
  return (
    <>
      <RequestsHeader path={path} mayFollow={isNewest && !filter.id} />
      <RequestFilters
        path={path}
        filter={filter}
        org={org.slug}
        keys={sentWith(choices.keys, filter.key, 'keys')}
        models={sentWith(choices.models, filter.model, 'models')}
        codes={ENDS}
      />
      {reason === null ? null : (
        <Note kind="danger" className="mb-6">
          {reason}
        </Note>
      )}
      {state === 'open' || state === 'queued' ? (
        <Note kind="warning" className="mb-6">
          {UNDER_WAY[state]}
        </Note>
      ) : null}
      {code === null ? null : <CodeAdvice code={code} />}
      {reason === null ? (
        <section className="card-surface" aria-label="Requests">
          {page.requests.length === 0 ? (
            <Empty
              icon={<span className="icon-list size-5" aria-hidden />}
              title={requestQueryOf(filter) === '' ? 'No requests yet' : 'No requests match the filter'}
            >
              {unknown.length === 0 ? 'Requests appear here within seconds of ending.' : unknown.join(' ')}
            </Empty>
          ) : (
            <RequestsTable org={org.slug} requests={page.requests} />
          )}
        </section>
      ) : null}
      <Pages
        newest={isNewest ? null : `${path}${requestQueryOf(filter)}`}
        older={page.next ? `${path}${requestQueryOf(filter, { before: page.next })}` : null}
      />
    </>
  );
}

const RequestsHeader = ({ path, mayFollow }: { path: string; mayFollow: boolean }) => (
  <PageHeader
    title="Requests"
    lead={
      <>
        Counted requests of the last 35 days, newest first, without their content. Times are UTC. Refused
        requests are not counted: see{' '}
        <Link href={`${path}/errors#refused`} className="inline-link">
          why they were refused
        </Link>
        .
      </>
    }
    actions={
      <>
        <Link href={`${path}/errors`} className="button button--secondary">
          Why requests failed
        </Link>
        {mayFollow ? <Tail /> : null}
      </>
    }
  />
);
