import type { UsageMonth } from '@tidegate/control';
import type { ReactNode } from 'react';
import { Note } from '../ui/page.tsx';
import { noticesOf } from './forecast.ts';

interface QuotaNoticesProps {
  readonly month: UsageMonth;
  readonly nowMs: number;
  /** What the user can do about it. */
  readonly children: ReactNode;
}

/** Tells that little is left of the organization's month. Nothing while there is enough. */
export function QuotaNotices({ month, nowMs, children }: QuotaNoticesProps) {
  return noticesOf(month, nowMs).map(({ name, kind, text }) => (
    <Note key={name} kind={kind}>
      {text} {children}
    </Note>
  ));
}
