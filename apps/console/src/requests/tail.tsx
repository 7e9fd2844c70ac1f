'use client';

import { useState } from 'react';
import { Live } from '../ui/live.tsx';

const EVERY_MS = 3_000;

/**
 * A button that keeps the newest requests on the page while it is pressed. Otherwise nothing moves
 * while someone is reading.
 */
export function Tail() {
  const [live, setLive] = useState(false);
  return (
    <>
      {live ? <Live everyMs={EVERY_MS} /> : null}
      <button
        type="button"
        className="button button--secondary w-30 gap-2"
        aria-pressed={live}
        onClick={() => setLive(!live)}
      >
        <span className={`size-2 rounded-full ${live ? 'bg-success' : 'bg-muted'}`} aria-hidden />
        {live ? 'Following' : 'Follow'}
      </button>
    </>
  );
}
