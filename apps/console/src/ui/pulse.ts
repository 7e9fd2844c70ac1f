'use client';

import { useEffect, useRef, useState } from 'react';

const TIMEOUT_MS = 10_000;

/**
 * While the page is visible, asks every few seconds whether the console and its database answer.
 * Calls `onAnswer` if they do. It asks first because a failed refresh would replace the page.
 *
 * @returns whether they are unavailable
 */
export function usePulse(everyMs: number, onAnswer: () => void): boolean {
  const [away, setAway] = useState(false);
  const answered = useRef(onAnswer);
  answered.current = onAnswer;
  useEffect(() => {
    const left = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let asking = false;
    const ask = async () => {
      if (asking) return;
      clearTimeout(timer);
      if (document.visibilityState === 'visible') {
        asking = true;
        const answers = await answersNow(left.signal);
        asking = false;
        if (left.signal.aborted) return;
        setAway(!answers);
        if (answers) answered.current();
      }
      timer = setTimeout(ask, everyMs);
    };
    timer = setTimeout(ask, everyMs);
    document.addEventListener('visibilitychange', ask, { signal: left.signal });
    return () => {
      left.abort();
      clearTimeout(timer);
    };
  }, [everyMs]);
  return away;
}

/** An ended session counts as an answer: the refresh then leads to the sign-in page. */
async function answersNow(signal: AbortSignal): Promise<boolean> {
  try {
    const { status } = await fetch('/pulse', {
      cache: 'no-store',
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    return status === 204 || status === 401;
  } catch {
    return false;
  }
}
