'use client';

import { useLayoutEffect } from 'react';
import { followTheme, STORED } from './theme.ts';

/**
 * Applies the theme where the script in the head has not run: Next sends the page of an unknown
 * address without its markup, and a script that is added later does not run.
 */
export function ReapplyTheme() {
  useLayoutEffect(() => {
    if (!document.documentElement.dataset.theme) followTheme(STORED);
  }, []);
  return null;
}
