import type { Metadata } from 'next';
import { Link } from '#ui/link.tsx';
import { Empty } from '#ui/page.tsx';

export const metadata: Metadata = { title: 'Not found' };

/**
 * Shown for a page about something that the organization does not have. The rest of the console
 * stays.
 */
export default function NothingHere() {
  return (
    <section className="card-surface">
      <Empty
        icon={<span className="icon-search size-5" aria-hidden />}
        title="There is nothing here"
        level="h1"
      >
        It may have been deleted, or it belongs to another organization.{' '}
        <Link href="/" className="inline-link">
          Back to the console
        </Link>
      </Empty>
    </section>
  );
}
