'use client';

import { useEffect } from 'react';

const EVERY_MS = 60_000;
const INPUTS = ['pointerdown', 'keydown', 'wheel', 'touchmove'] as const;

/**
 * Tells the server, at most once a minute, that someone is using this page. Otherwise the session
 * of someone who only reads and types would end as idle.
 */
export function SessionKeeper() {
  useEffect(() => {
    const left = new AbortController();
    let toldAt = performance.now();
    const tell = () => {
      if (performance.now() - toldAt < EVERY_MS) return;
      toldAt = performance.now();
      // If this fails, the next input tells the server.
      fetch('/pulse', { method: 'POST' }).catch(() => {});
    };
    for (const input of INPUTS) addEventListener(input, tell, { passive: true, signal: left.signal });
    return () => left.abort();
  }, []);
  return null;
}
