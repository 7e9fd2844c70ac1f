'use client';

import { useEffect, useLayoutEffect } from 'react';

/** Toasts call themselves dialogs, too. */
const DIALOGS = '[role=dialog], [role=alertdialog]:not([aria-modal=false])';
/** Enough looks for a dialog to fade out, and even for a slow page to show what was changed. */
const MAX_POLLS = 300;
const POLL_EVERY_MS = 100;

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

function heading(): HTMLElement | null {
  return focusable(document.querySelector<HTMLElement>('main h1'));
}

/** Lets an element have the focus that keyboards pass over. */
export function focusable<T extends HTMLElement | null | undefined>(element: T): T {
  if (element) element.tabIndex = -1;
  return element;
}

const backOrBeginning = () => destination(last, heading());
const restoreFocus = (): void => backOrBeginning()?.focus({ preventScroll: true });

/** Calls `look` again and again for half a minute, until it returns true. */
function pollBriefly(look: () => boolean): void {
  let polls = 0;
  const timer = setInterval(() => {
    polls += 1;
    if (look() || polls === MAX_POLLS) clearInterval(timer);
  }, POLL_EVERY_MS);
}

let watches = 0;

/**
 * Moves the focus if the focused element disappears soon, as a button may after it was pressed.
 * Only the newest call counts.
 *
 * @param next finds where to, once it is there; default: back, or to the page's beginning
 */
export function watchFocus(next: () => HTMLElement | null | undefined = backOrBeginning): void {
  const focused = document.activeElement;
  watches += 1;
  const own = watches;
  pollBriefly(() => {
    if (own !== watches) return true;
    if (focused?.isConnected || !isLost()) return false;
    const to = next();
    to?.focus({ preventScroll: true });
    return to !== null && to !== undefined;
  });
}

/**
 * Moves the focus to the heading of a page once it is shown, for someone who did not come by a
 * link.
 */
export function focusHeadingOf(path: string): void {
  pollBriefly(() => {
    if (location.pathname !== path || isDialogOpen()) return false;
    const target = heading();
    // A page that loads has a heading of its own.
    if (!target || target.closest('[role=status]')) return false;
    target.focus({ preventScroll: true });
    return document.activeElement === target;
  });
}

/** Whether a dialog is open. A toast does not count, although its role says so. */
export const isDialogOpen = (): boolean => document.querySelector(DIALOGS) !== null;

/**
 * Returns the focus to where it was before a dialog. The dialogs do so themselves, unless one took
 * the place of another, or what had the focus is gone, such as the row of a deleted key.
 */
export function useFocusReturn(isOpen: boolean): void {
  // What opens a dialog still has the focus now. It may have had it since before `FocusMemory` was
  // mounted.
  useLayoutEffect(() => {
    if (isOpen) remember(document.activeElement);
  }, [isOpen]);
  useEffect(() => {
    if (!isOpen) return;
    return () => {
      let isClosed = false;
      pollBriefly(() => {
        // Once the dialog is closed, this restores the focus only if the focused element has
        // disappeared: a click on nothing gives it up on purpose.
        if (!isDialogOpen() && isLost() && !(isClosed && last?.isConnected)) restoreFocus();
        isClosed ||= !isDialogOpen();
        return false;
      });
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
