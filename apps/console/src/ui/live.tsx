'use client';

import { CloudOff } from 'lucide-react';
import { useRouter } from 'next/navigation';
import { usePulse } from './pulse.ts';

/**
 * Asks the server for the page's data again, every few seconds while the page is looked at. While the console or its database
 * is away the page stays as it is, says so, and goes on by itself when they are back.
 */
export function Live({ everyMs = 4_000 }: { everyMs?: number }) {
  const router = useRouter();
  const away = usePulse(everyMs, router.refresh);
  return (
    <div role="status" className="pointer-events-none fixed inset-x-4 bottom-5 z-40 flex justify-center">
      {away ? (
        <p className="flex items-center gap-2.5 rounded-2xl border border-warning/40 bg-overlay px-4 py-2 text-sm shadow-lg">
          <CloudOff className="size-4 shrink-0 text-muted" aria-hidden />
          The console or its database does not answer. What you see may be old; trying again.
        </p>
      ) : null}
    </div>
  );
}
