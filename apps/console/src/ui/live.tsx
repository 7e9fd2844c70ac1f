'use client';

import { useRouter } from 'next/navigation';
import { usePulse } from './pulse.ts';

/**
 * Refreshes the page's data every few seconds while the page is visible. While the console or its
 * database is unavailable, the page stays as it is and says so. It continues by itself.
 */
export function Live({ everyMs = 4_000 }: { everyMs?: number }) {
  const router = useRouter();
  const away = usePulse(everyMs, router.refresh);
  return (
    <div role="status" className="pointer-events-none fixed inset-x-4 bottom-5 z-40 flex justify-center">
      {away ? (
        <p className="flex items-center gap-2.5 rounded-2xl border border-warning/40 bg-overlay px-4 py-2 text-sm shadow-lg">
          <span className="icon-cloud-off size-4 shrink-0 text-muted" aria-hidden />
          The console or its database is not answering. What you see may be out of date; trying again.
        </p>
      ) : null}
    </div>
  );
}
