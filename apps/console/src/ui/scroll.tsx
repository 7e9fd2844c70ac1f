import type { ReactNode } from 'react';

/** Scrolls content that is wider than the screen. Works with the keyboard, too. */
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
