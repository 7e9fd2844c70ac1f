'use client';

import { useSearchParams } from 'next/navigation';
import { useEffect, useState } from 'react';
import { readTexts, withTexts } from './query.ts';

/**
 * Texts of a list, such as its filter, that are also in the page's address: a reload, a link and
 * going back find them. They are written again into an address of the same page without them, such
 * as the menu's. While `isBusy`, the address waits, because writing it would end a navigation.
 */
export function useAddressTexts<N extends string>(names: readonly N[], isBusy: boolean) {
  const query = useSearchParams();
  const [texts, setTexts] = useState(() => readTexts(names, Object.fromEntries(query)));
  const set = (part: Partial<Record<N, string>>) => setTexts((now) => ({ ...now, ...part }));
  const search = query.toString();
  const written = JSON.stringify(texts);
  useEffect(() => {
    if (isBusy) return;
    const { pathname, hash } = location;
    const before = search === '' ? '' : `?${search}`;
    const wanted = withTexts(before, JSON.parse(written));
    if (wanted !== before) history.replaceState(null, '', `${pathname}${wanted}${hash}`);
  }, [written, search, isBusy]);
  return [texts, set] as const;
}
