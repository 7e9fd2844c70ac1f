import type { Metadata } from 'next';
import Link from 'next/link';
import { EventsTable } from '#audit/events-table.tsx';
import { services } from '#server/services.ts';
import { read, requireOrg } from '#session/current.ts';
import { Empty, PageHeader } from '#ui/page.tsx';

export const metadata: Metadata = { title: 'Audit' };

interface AuditProps {
  readonly params: Promise<{ org: string }>;
  readonly searchParams: Promise<Record<string, string | string[] | undefined>>;
}

export default async function Audit({ params, searchParams }: AuditProps) {
  const { actor, org } = await requireOrg((await params).org);
  const { before } = await searchParams;
  const page = read(
    await services().control.listAudit(actor, {
      org: org.slug,
      ...(typeof before === 'string' && before !== '' ? { before } : {}),
    }),
  );
  const path = `/o/${org.slug}/audit`;
  const link = 'button button--secondary button--sm';
  return (
    <>
      <PageHeader title="Audit" lead="Who changed what, and when. Newest first; never secrets." />
      <section className="card-surface" aria-label="Events">
        {page.events.length === 0 ? (
          <Empty icon={<span className="icon-scroll-text size-5" aria-hidden />} title="Nothing here">
            Changes of keys, models, members and the plan appear here.
          </Empty>
        ) : (
          <EventsTable events={page.events} />
        )}
      </section>
      <nav className="mt-4 flex justify-end gap-2" aria-label="Pages">
        {before ? (
          <Link href={path} className={link}>
            Newest
          </Link>
        ) : null}
        {page.next ? (
          <Link href={`${path}?before=${page.next}`} className={link}>
            Older
          </Link>
        ) : null}
      </nav>
    </>
  );
}
