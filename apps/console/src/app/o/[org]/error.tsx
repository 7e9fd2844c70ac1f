'use client';

import { Button } from '@heroui/react';

/** A screen that could not be read. The rest of the console stays. */
export default function ScreenError({ reset }: { error: Error; reset: () => void }) {
  return (
    <div className="card-surface px-6 py-16 text-center" role="alert">
      <h1 className="text-base font-semibold">This could not be loaded</h1>
      <p className="mx-auto mt-2 max-w-sm text-sm leading-6 text-muted">
        The console or its database did not answer. Nothing was changed.
      </p>
      <Button className="mt-5" variant="secondary" onPress={reset}>
        Try again
      </Button>
    </div>
  );
}
