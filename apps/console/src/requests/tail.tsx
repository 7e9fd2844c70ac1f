'use client';

import { useState } from 'react';
import { Live } from '../ui/live.tsx';

const EVERY_MS = 3_000;

/** Keeps the newest requests on the page until it is paused. */
export function Tail() {
  const [live, setLive] = useState(true);
  return (
    <>
      {live ? <Live everyMs={EVERY_MS} /> : null}
      <button
        type="button"
        className="button button--secondary w-28 gap-2"
        aria-pressed={live}
        onClick={() => setLive(!live)}
      >
        <span className={`size-2 rounded-full ${live ? 'bg-success' : 'bg-muted'}`} aria-hidden />
        {live ? 'Live' : 'Paused'}
      </button>
    </>
  );
}
