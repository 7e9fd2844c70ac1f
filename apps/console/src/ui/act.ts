'use client';

import { toast } from '@heroui/react';
import type { ControlRefusal, Result } from '@tidegate/control';
import { useRouter } from 'next/navigation';
import { useCallback, useState } from 'react';
import { watchFocus } from './focus.ts';

const UNREACHABLE: ControlRefusal = {
  code: 'unavailable',
  message: 'The console failed or could not be reached. Check whether anything changed, then try again.',
};

/**
 * Runs a server action. `pending` is true while it runs. `refusal` says why it was refused, or that
 * the connection failed. A toast reports what is done but not in force yet. Refreshes the page's
 * data afterwards.
 */
export function useAct() {
  const router = useRouter();
  const [pending, setPending] = useState(false);
  const [refusal, setRefusal] = useState<ControlRefusal | null>(null);
  const act = useCallback(
    async <T>(action: () => Promise<Result<T>>): Promise<T | undefined> => {
      setPending(true);
      setRefusal(null);
      const result = await settled(action);
      if (result.ok || result.refusal !== UNREACHABLE) router.refresh();
      if (!result.ok) setRefusal(result.refusal);
      // Callers see only the value. The warning stays until it is read.
      else if (result.notInForce !== undefined) toast.warning(result.notInForce, { timeout: 0 });
      setPending(false);
      return result.ok ? result.value : undefined;
    },
    [router],
  );
  const clear = useCallback(() => setRefusal(null), []);
  return { act, pending, refusal, clear };
}

/** `useAct` for a button that has no place for a refusal: a toast shows it. */
export function useToastAct() {
  const { act: run, pending } = useAct();
  const act = async <T>(action: () => Promise<Result<T>>): Promise<T | undefined> => {
    const value = await run(async () => {
      const result = await settled(action);
      if (!result.ok) toast.danger(result.refusal.message);
      return result;
    });
    // The action may have taken the button away.
    if (value !== undefined) watchFocus();
    return value;
  };
  return { act, pending };
}

const settled = <T>(action: () => Promise<Result<T>>): Promise<Result<T>> =>
  action().catch(() => ({ ok: false, refusal: UNREACHABLE }));
