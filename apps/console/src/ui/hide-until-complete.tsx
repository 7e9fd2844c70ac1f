import type { ReactNode } from 'react';

/**
 * Content that is not visible until all of it has arrived, because what arrives later would move
 * what is already there. Nothing else may be in the same element.
 */
export const HideUntilComplete = ({ className, children }: { className: string; children: ReactNode }) => (
  <>
    <div className={`not-has-[+span]:invisible ${className}`}>{children}</div>
    <span hidden />
  </>
);
