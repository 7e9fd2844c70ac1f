'use client';

import { Button } from '@heroui/react';
import { usePulse } from './pulse.ts';

const RETRY_MS = 3_000;

/** Shown in place of what could not be read. Retries by itself. */
export function Failed({ retry }: { retry: () => void }) {
  usePulse(RETRY_MS, retry);
  return (
    <div className="card-surface px-6 py-16 text-center" role="alert">
      <h1 className="text-base font-semibold">This could not be loaded</h1>
      <p className="mx-auto mt-2 max-w-sm text-sm leading-6 text-muted">
        The console or its database did not answer. Nothing was changed. The console tries again every few
        seconds.
      </p>
      <Button className="mt-5" variant="secondary" onPress={retry}>
        Try again now
      </Button>
    </div>
  );
}
