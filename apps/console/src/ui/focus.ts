'use client';

import { useEffect } from 'react';

const DIALOGS = '[role=dialog], [role=alertdialog]';
/** Longer than a dialog takes to fade out, in frames. */
const MAX_FRAMES = 90;

/** The last element outside of dialogs that had the focus. */
let last: HTMLElement | null = null;

function remember({ target }: FocusEvent): void {
  if (target instanceof HTMLElement && !target.closest(DIALOGS)) last = target;
}

interface Candidate {
  readonly isConnected: boolean;
}

/** Where the focus goes when no element has it: back, or to the page's beginning. */
export const destination = <T extends Candidate>(back: T | null, beginning: T | null): T | null =>
  back?.isConnected ? back : beginning;

function mend(): void {
  if (document.activeElement !== null && document.activeElement !== document.body) return;
  const heading = document.querySelector<HTMLElement>('main h1');
  if (heading) heading.tabIndex = -1;
  destination(last, heading)?.focus({ preventScroll: true });
}

/**
 * Returns the focus to where it was before a dialog. The dialogs do so themselves, unless one took
 * the place of another, or what was focused is gone, as the row of a key that was deleted.
 */
export function useFocusReturn(isOpen: boolean): void {
  useEffect(() => {
    if (!isOpen) return;
    return () => {
      let frames = 0;
      const look = () => {
        frames += 1;
        if (frames < MAX_FRAMES && document.querySelector(DIALOGS)) requestAnimationFrame(look);
        else requestAnimationFrame(mend);
      };
      requestAnimationFrame(look);
    };
  }, [isOpen]);
  useEffect(() => {
    document.addEventListener('focusin', remember);
  }, []);
}
