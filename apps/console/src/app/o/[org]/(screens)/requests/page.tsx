import type { FoundRequest, RequestPage } from '@tidegate/control';
import type { Metadata } from 'next';
import { adviceOf, codeText } from '#errors/advice.ts';
import { sentWith } from '#requests/choices.ts';
import { ENDS } from '#requests/ends.ts';
import { filterOf, inputOf, queryOf } from '#requests/filter.ts';
import { Filters } from '#requests/filters.tsx';
import { keyChoices } from '#requests/key-name.ts';
import { RequestsTable } from '#requests/requests-table.tsx';
import { Tail } from '#requests/tail.tsx';
import { services } from '#server/services.ts';
import { read, requireOrg } from '#session/current.ts';
import { Link } from '#ui/link.tsx';
import { Empty, Note, PageHeader } from '#ui/page.tsx';
import type { Query } from '#ui/query.ts';

export const metadata: Metadata = { title: 'Requests' };

interface RequestsProps {
  readonly params: Promise<{ org: string }>;
  readonly searchParams: Promise<Query>;
}

const NOTHING: RequestPage = { requests: [], next: null };
const UNDER_WAY = {
  open: 'This request is in progress.',
  queued: 'This request has ended. It will be in the list in a moment.',
} as const;

export default async function Requests({ params, searchParams }: RequestsProps) {
  const { actor, org } = await requireOrg((await params).org);
  const query = await searchParams;
  const { before } = query;
  const filter = filterOf(query);
  const { control } = services();
  const [found, listed, keys, models] = await Promise.all([
    filter.id ? control.showRequest(actor, { org: org.slug, id: filter.id }) : null,
    filter.id
      ? null
      : control.listRequests(actor, {
          org: org.slug,
          ...inputOf(filter),
          ...(typeof before === 'string' && before !== '' ? { before } : {}),
        }),
    control.listKeys(actor, { org: org.slug }),
    control.listModels(actor, { org: org.slug, activity: false }),
  ]);
  const answer = found ?? listed;
  const reason =
    answer && !answer.ok && REASONS.includes(answer.refusal.code) ? answer.refusal.message : null;
  const one: FoundRequest | null = found && reason === null ? read(found) : null;
  const page: RequestPage = one
    ? { requests: one.request ? [one.request] : [], next: null }
    : listed && reason === null
      ? read(listed)
      : NOTHING;
  const code = one?.request?.code ?? ENDS.find(({ id }) => id === filter.outcome)?.id ?? null;
  const path = `/o/${org.slug}/requests`;
  const link = 'button button--secondary button--sm';
  return (
    <>
      <PageHeader
        title="Requests"
        lead={
          <>
            Counted requests of the last 35 days, newest first, without their content. Times are UTC. Refused
            ones are not counted:{' '}
            <Link
              href={`${path}/errors#refused`}
              className="font-medium text-accent underline underline-offset-4"
            >
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
            {before || filter.id ? null : <Tail />}
          </>
        }
      />
      <Filters
        path={path}
        filter={filter}
        org={org.slug}
        keys={sentWith(keyChoices(read(keys)), filter.key, 'keys')}
        models={sentWith(
          read(models).map(({ id, name }) => ({ id, name })),
          filter.model,
          'models',
        )}
        codes={ENDS}
      />
      {reason === null ? null : (
        <Note kind="danger" className="mb-6">
          {reason}
        </Note>
      )}
      {one && one.state !== 'settled' ? (
        <Note kind="warning" className="mb-6">
          {UNDER_WAY[one.state]}
        </Note>
      ) : null}
      {code === null ? null : <CodeAdvice code={code} />}
      {reason === null ? (
        <section className="card-surface" aria-label="Requests">
          {page.requests.length === 0 ? (
            <Empty
              icon={<span className="icon-list size-5" aria-hidden />}
              title={queryOf(filter) === '' ? 'No requests yet' : 'No requests match the filter'}
            >
              Requests appear here within seconds of their end.
            </Empty>
          ) : (
            <RequestsTable org={org.slug} requests={page.requests} />
          )}
        </section>
      ) : null}
      <nav className="mt-4 flex min-h-8 justify-end gap-2" aria-label="Pages">
        {before ? (
          <Link href={`${path}${queryOf(filter)}`} className={link}>
            Newest
          </Link>
        ) : null}
        {page.next ? (
          <Link href={`${path}${queryOf(filter, { before: page.next })}`} className={link}>
            Older
          </Link>
        ) : null}
      </nav>
    </>
  );
}

/** What the error that is looked at means, and what to do. */
function CodeAdvice({ code }: { code: string }) {
  const { meaning, action } = adviceOf(code);
  return (
    <div className="card-surface mb-6 px-5 py-4 text-sm leading-6">
      <p className="font-mono text-xs text-muted">{codeText(code)}</p>
      <p className="mt-1">{meaning}</p>
      <p className="text-muted">{action}</p>
    </div>
  );
}

/** Refusals that the page explains. Others are errors. */
const REASONS = ['invalid_input', 'not_found'];
