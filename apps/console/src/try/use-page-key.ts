'use client';

import type { CreatedPageKey, Result } from '@tidegate/control';
import { useEffect, useMemo } from 'react';
import { createPageKey } from './actions.ts';
import { PageKey } from './page-key.ts';

/** Where requests get their key. */
export interface KeySource {
  get(): Promise<Result<string>>;
  /** The key was refused. True: the next `get` gives another. */
  drop(key: string): boolean;
}

export const pastedKey = (key: string): KeySource => ({
  get: async () => ({ ok: true, value: key }),
  drop: () => false,
});

const UNREACHABLE: Result<CreatedPageKey> = {
  ok: false,
  refusal: { code: 'unavailable', message: 'The console failed or could not be reached. Try again.' },
};

/**
 * A key that is created when it is first needed, and ends when the page is left, in whatever way.
 */
export function usePageKey(org: string): KeySource {
  const key = useMemo(
    () =>
      new PageKey({
        create: () => createPageKey(org).catch(() => UNREACHABLE),
        // Arrives even though the page is gone.
        end: (id) => navigator.sendBeacon(`/o/${org}/try/end`, id),
      }),
    [org],
  );
  useEffect(() => {
    const end = () => key.end();
    window.addEventListener('pagehide', end);
    return () => {
      window.removeEventListener('pagehide', end);
      end();
    };
  }, [key]);
  return key;
}
