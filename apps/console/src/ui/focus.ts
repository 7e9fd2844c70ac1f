'use client';

import { useEffect, useLayoutEffect } from 'react';

/** Toasts call themselves dialogs, too. */
const DIALOGS = '[role=dialog], [role=alertdialog]:not([aria-modal=false])';
/** Longer than a dialog takes to fade out, and a page to show what was changed. */
const LOOKS = 40;
const LOOK_EVERY_MS = 100;

/** The last element outside of dialogs that had the focus. */
let last: HTMLElement | null = null;

function remember(focused: EventTarget | null): void {
  if (focused instanceof HTMLElement && focused !== document.body && !focused.closest(DIALOGS))
    last = focused;
}

const onFocus = ({ target }: FocusEvent) => remember(target);

interface Candidate {
  readonly isConnected: boolean;
}

/** Where the focus goes when no element has it: back, or to the page's beginning. */
export const destination = <T extends Candidate>(back: T | null, beginning: T | null): T | null =>
  back?.isConnected ? back : beginning;

const isLost = () => document.activeElement === null || document.activeElement === document.body;

function mend(): void {
  const heading = document.querySelector<HTMLElement>('main h1');
  if (heading) heading.tabIndex = -1;
  destination(last, heading)?.focus({ preventScroll: true });
}

/**
 * Returns the focus to where it was before a dialog. The dialogs do so themselves, unless one took
 * the place of another, or what was focused is gone, as the row of a key that was deleted.
 */
export function useFocusReturn(isOpen: boolean): void {
  // What opens a dialog still has the focus now. It may have had it before `FocusMemory` was there.
  useLayoutEffect(() => {
    if (isOpen) remember(document.activeElement);
  }, [isOpen]);
  useEffect(() => {
    if (!isOpen) return;
    return () => {
      let looks = 0;
      let isClosed = false;
      const timer = setInterval(() => {
        looks += 1;
        // Afterwards, only what disappears loses the focus: a click beside everything drops it.
        if (!document.querySelector(DIALOGS) && isLost() && !(isClosed && last?.isConnected)) mend();
        isClosed ||= !document.querySelector(DIALOGS);
        if (looks === LOOKS) clearInterval(timer);
      }, LOOK_EVERY_MS);
    };
  }, [isOpen]);
}

/** Part of every page, so that the focus is known before the first dialog opens. */
export function FocusMemory(): null {
  useEffect(() => {
    document.addEventListener('focusin', onFocus);
    return () => document.removeEventListener('focusin', onFocus);
  }, []);
  return null;
}
