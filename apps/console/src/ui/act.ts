'use client';

import type { ControlRefusal, Result } from '@tidegate/control';
import { useRouter } from 'next/navigation';
import { useCallback, useState } from 'react';

const UNREACHABLE: ControlRefusal = {
  code: 'unavailable',
  message: 'The console failed or could not be reached. Check whether anything changed, then try again.',
};

/**
 * Runs a server action. `pending` is true while it runs. `refusal` says why it was refused, or that
 * the connection failed. Refreshes the page's data afterwards.
 */
export function useAct() {
  const router = useRouter();
  const [pending, setPending] = useState(false);
  const [refusal, setRefusal] = useState<ControlRefusal | null>(null);
  const act = useCallback(
    async <T>(action: () => Promise<Result<T>>): Promise<T | undefined> => {
      setPending(true);
      setRefusal(null);
      try {
        const result = await action();
        router.refresh();
        if (result.ok) return result.value;
        setRefusal(result.refusal);
      } catch {
        setRefusal(UNREACHABLE);
      } finally {
        setPending(false);
      }
      return undefined;
    },
    [router],
  );
  const clear = useCallback(() => setRefusal(null), []);
  return { act, pending, refusal, clear };
}
