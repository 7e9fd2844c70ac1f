import type { ReactNode } from 'react';

/** What is wider than the screen scrolls inside it, by keyboard too. */
export function Scroll({ label, children }: { label: string; children: ReactNode }) {
  return (
    <section
      className="relative overflow-x-auto rounded-b-[0.8rem]"
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: without it a keyboard cannot scroll
      tabIndex={0}
    >
      {children}
    </section>
  );
}
