'use client';

import { usePathname, useRouter, useSearchParams } from 'next/navigation';
import { useState, useTransition } from 'react';
import { FIRST_ROWS, rowsQuery } from './wanted-rows.ts';

interface AllRows {
  /** Asks for the page with all rows, unless it has them. The page keeps its state. */
  readonly fetchAll: () => void;
  /** All rows are on their way. */
  readonly fetching: boolean;
  /** How many rows to render. */
  readonly shown: number;
  readonly showMore: () => void;
}

/** For a list that comes with its first rows, and with all of them once a user looks for more. */
export function useAllRows({ sent, total }: { sent: number; total: number }): AllRows {
  const router = useRouter();
  const pathname = usePathname();
  const query = useSearchParams();
  const [fetching, startTransition] = useTransition();
  const [shown, setShown] = useState(FIRST_ROWS);
  const fetchAll = () => {
    if (sent >= total || fetching) return;
    startTransition(() => router.replace(`${pathname}${rowsQuery(query.toString())}`, { scroll: false }));
  };
  const showMore = () => {
    fetchAll();
    setShown(shown + FIRST_ROWS);
  };
  return { fetchAll, fetching, shown, showMore };
}

/**
 * For a list of which a page has only the rows that are shown, because there may be thousands that
 * change. The returned function asks for more.
 */
export function useMoreRows(shown: number): () => void {
  const router = useRouter();
  const pathname = usePathname();
  const query = useSearchParams();
  return () =>
    router.replace(`${pathname}${rowsQuery(query.toString(), shown + FIRST_ROWS)}`, { scroll: false });
}
