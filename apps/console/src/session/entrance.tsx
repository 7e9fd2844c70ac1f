import type { ReactNode } from 'react';
import { HideUntilComplete } from '../ui/hide-until-complete.tsx';
import { Mark } from '../ui/mark.tsx';

/**
 * The page around forms for users who are not signed in. Its content is aligned to the top, because
 * centred content moves while the page loads.
 */
export function Entrance({ title, lead, children }: { title: string; lead: ReactNode; children: ReactNode }) {
  return (
    <main className="tide grid min-h-dvh content-start justify-items-center px-4 pt-[18dvh] pb-10">
      <HideUntilComplete className="w-full max-w-sm">
        <div className="mb-7 flex flex-col items-center text-center">
          <Mark className="size-11" />
          <h1 className="mt-5 text-2xl font-semibold tracking-[-0.022em]">{title}</h1>
          <p className="mt-2 text-sm leading-6 text-muted text-balance">{lead}</p>
        </div>
        <div className="card-surface p-6 shadow-sm">{children}</div>
      </HideUntilComplete>
    </main>
  );
}
