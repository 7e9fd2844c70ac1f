import { Link } from './link.tsx';

interface PagesProps {
  /** The address of the first page. Null: this is it. */
  readonly newest: string | null;
  /** The address of the next page. Null: this is the last. */
  readonly older: string | null;
}

/** Links from a page of a long list, newest first, to others. */
export function Pages({ newest, older }: PagesProps) {
  const look = 'button button--secondary button--sm';
  return (
    <nav className="mt-4 flex min-h-8 justify-end gap-2" aria-label="Pages">
      {newest === null ? null : (
        <Link href={newest} className={look}>
          Newest
        </Link>
      )}
      {older === null ? null : (
        <Link href={older} className={look}>
          Older
        </Link>
      )}
    </nav>
  );
}
