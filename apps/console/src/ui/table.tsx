import type { ReactNode } from 'react';

interface TableProps {
  readonly label: string;
  /**
   * Below this width of the container, rows become cards. Default: they never do. Columns without a
   * width share what the others leave.
   */
  readonly cardsBelow?: '2xl' | '4xl';
  readonly className?: string;
  readonly children: ReactNode;
}

const CARDS = { '2xl': '@max-2xl:cards', '4xl': '@max-4xl:cards' } as const;

/**
 * A table that fits its container, whatever its cells contain. It never cuts anything off. On a
 * card, each cell has its `data-label` above it, and cells with the class `actions` are beside the
 * row's header.
 */
export function Table({ label, cardsBelow, className = '', children }: TableProps) {
  return (
    <div className={`@container ${className}`}>
      <table aria-label={label} className={`grid-table ${cardsBelow ? CARDS[cardsBelow] : ''}`}>
        {children}
      </table>
    </div>
  );
}
