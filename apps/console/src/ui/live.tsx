'use client';

import { useRouter } from 'next/navigation';
import { useEffect } from 'react';

/** Asks the server for the page's data again, every few seconds while the page is looked at. */
export function Live({ everyMs = 4_000 }: { everyMs?: number }) {
  const router = useRouter();
  useEffect(() => {
    const refresh = () => {
      if (document.visibilityState === 'visible') router.refresh();
    };
    const timer = setInterval(refresh, everyMs);
    document.addEventListener('visibilitychange', refresh);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', refresh);
    };
  }, [router, everyMs]);
  return null;
}
