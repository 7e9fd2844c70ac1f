'use client';

import { LAST_PLACE_COOKIE } from './last-place.ts';

const A_YEAR_S = 31_536_000;

/** For the next visit in this browser. The place has only letters, digits, hyphens and a slash. */
export function rememberPlace(place: string): void {
  const secure = location.protocol === 'https:' ? '; secure' : '';
  // biome-ignore lint/suspicious/noDocumentCookie: the server reads it, in all browsers
  document.cookie = `${LAST_PLACE_COOKIE}=${place}; path=/; max-age=${A_YEAR_S}; samesite=lax${secure}`;
}
