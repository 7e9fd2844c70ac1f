import type { UsageMonth } from '@tidegate/control';
import type { ReactNode } from 'react';
import { Note } from '../ui/page.tsx';
import { bannersOf } from './forecast.ts';

interface QuotaBannersProps {
  readonly month: UsageMonth;
  readonly nowMs: number;
  /** What the user can do about it. */
  readonly children: ReactNode;
}

/** Warns that little is left of the organization's month. Shows nothing while there is enough. */
export function QuotaBanners({ month, nowMs, children }: QuotaBannersProps) {
  return bannersOf(month, nowMs).map(({ name, kind, text }) => (
    <Note key={name} kind={kind}>
      {text} {children}
    </Note>
  ));
}
