'use client';

import { useSyncExternalStore } from 'react';

const TICK_MS = 30_000;
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** One timer for all times of a page. */
function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    for (const tell of listeners) tell();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

const tick = () => Math.floor(Date.now() / TICK_MS) * TICK_MS;

/** The time in Unix milliseconds, to half a minute. Follows the clock. */
export const useNow = (): number => useSyncExternalStore(subscribe, tick, tick);
