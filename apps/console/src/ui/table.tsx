import type { ReactNode } from 'react';

interface TableProps {
  readonly label: string;
  /** Width of its place below which its rows become cards. Columns without a width of their own share what the others leave. */
  readonly cardsBelow: '2xl' | '4xl';
  readonly className?: string;
  readonly children: ReactNode;
}

const CARDS = { '2xl': '@max-2xl:cards', '4xl': '@max-4xl:cards' } as const;

/**
 * As wide as its place and never wider, whatever its cells hold: nothing in it is ever cut off. On a card the cells of a row
 * stand under `data-label`, and those of the class `actions` beside the row's header.
 */
export function Table({ label, cardsBelow, className = '', children }: TableProps) {
  return (
    <div className={`@container ${className}`}>
      <table aria-label={label} className={`grid-table ${CARDS[cardsBelow]}`}>
        {children}
      </table>
    </div>
  );
}
