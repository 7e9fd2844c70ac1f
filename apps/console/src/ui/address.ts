'use client';

import { useSearchParams } from 'next/navigation';
import { useEffect, useState } from 'react';
import { readTexts, withTexts } from './query.ts';

/**
 * Texts of a list, such as its filter, that the page's address has, too: a reload, a link and going
 * back find them. While `isBusy` the address waits, because to write it would end a navigation.
 */
export function useAddressTexts<N extends string>(names: readonly N[], isBusy: boolean) {
  const query = useSearchParams();
  const [texts, setTexts] = useState(() => readTexts(names, Object.fromEntries(query)));
  const set = (part: Partial<Record<N, string>>) => setTexts((now) => ({ ...now, ...part }));
  const written = JSON.stringify(texts);
  useEffect(() => {
    if (isBusy) return;
    const { pathname, search, hash } = location;
    const wanted = withTexts(search, JSON.parse(written));
    if (wanted !== search) history.replaceState(null, '', `${pathname}${wanted}${hash}`);
  }, [written, isBusy]);
  return [texts, set] as const;
}
