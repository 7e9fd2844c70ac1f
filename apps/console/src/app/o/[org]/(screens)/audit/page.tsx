import type { Metadata } from 'next';
import { EventsTable } from '#audit/events-table.tsx';
import { auditFilterOf, auditInputOf, auditQueryOf, cursorOf, whyNoEvents } from '#audit/filter.ts';
import { AuditFilters } from '#audit/filters.tsx';
import { services } from '#server/services.ts';
import { read, requireOrg } from '#session/current.ts';
import { Empty, Note, PageHeader } from '#ui/page.tsx';
import { Pages } from '#ui/pages.tsx';
import type { Query } from '#ui/query.ts';

export const metadata: Metadata = { title: 'Audit' };

interface AuditProps {
  readonly params: Promise<{ org: string }>;
  readonly searchParams: Promise<Query>;
}

export default async function Audit({ params, searchParams }: AuditProps) {
  const { actor, org } = await requireOrg((await params).org);
  const query = await searchParams;
  const filter = auditFilterOf(query);
  const cursor = cursorOf(query);
  const listed = await services().control.listAudit(actor, {
    org: org.slug,
    ...auditInputOf(filter),
    ...cursor,
  });
  const refused = !listed.ok && listed.refusal.code === 'invalid_input' ? whyNoEvents(listed.refusal) : null;
  const page = refused === null ? read(listed) : { events: [], next: null };
  const path = `/o/${org.slug}/audit`;
  return (
    <>
      <PageHeader
        title="Audit"
        lead="Who changed what, and when. Newest first. Secrets are never shown."
        actions={['csv', 'jsonl'].map((format) => (
          <a
            key={format}
            href={`${path}/export${auditQueryOf(filter, { format })}`}
            download
            className="button button--secondary gap-2"
          >
            <span className="icon-download size-4" aria-hidden />
            {format === 'csv' ? 'CSV' : 'JSON lines'}
          </a>
        ))}
      />
      <AuditFilters path={path} filter={filter} />
      {refused === null ? null : (
        <Note kind="danger" className="mb-6">
          {refused}
        </Note>
      )}
      {refused === null ? (
        <section className="card-surface" aria-label="Events">
          {page.events.length === 0 ? (
            <Empty
              icon={<span className="icon-scroll-text size-5" aria-hidden />}
              title={auditQueryOf(filter) === '' ? 'Nothing here' : 'No event matches the filter'}
            >
              Changes to keys, models, members and the plan appear here.
            </Empty>
          ) : (
            <EventsTable events={page.events} />
          )}
        </section>
      ) : null}
      <Pages
        newest={cursor.before ? `${path}${auditQueryOf(filter)}` : null}
        older={page.next ? `${path}${auditQueryOf(filter, { before: page.next })}` : null}
      />
    </>
  );
}
