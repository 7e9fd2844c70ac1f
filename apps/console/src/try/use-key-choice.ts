'use client';

import { useState } from 'react';
import { type KeySource, pastedKey, usePageKey } from './use-page-key.ts';

/** Which key messages are sent with. */
export interface KeyChoice {
  readonly source: 'page' | 'pasted';
  readonly setSource: (source: 'page' | 'pasted') => void;
  /** What is in the field for a pasted key. */
  readonly pasted: string;
  readonly setPasted: (pasted: string) => void;
  /** Null: none was pasted yet. */
  readonly keys: KeySource | null;
}

/** @param mayCreateKey otherwise a key must be pasted */
export function useKeyChoice(org: string, mayCreateKey: boolean): KeyChoice {
  const pageKey = usePageKey(org);
  const [source, setSource] = useState<KeyChoice['source']>(mayCreateKey ? 'page' : 'pasted');
  const [pasted, setPasted] = useState('');
  const own = pasted.trim() === '' ? null : pastedKey(pasted.trim());
  return { source, setSource, pasted, setPasted, keys: source === 'page' ? pageKey : own };
}
