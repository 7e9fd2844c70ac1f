import type { ReactNode } from 'react';
import { Link } from '../ui/link.tsx';
import { whole } from '../ui/numbers.ts';
import { Table } from '../ui/table.tsx';

interface CountTableProps {
  readonly label: string;
  readonly column: string;
  /** What is counted. */
  readonly counted: 'Requests' | 'Refused';
  readonly children: ReactNode;
}

/** Counts by name. Its rows are `CountRow`s. */
export function CountTable({ label, column, counted, children }: CountTableProps) {
  return (
    <Table label={label} className="border-t border-border">
      <thead>
        <tr>
          <th scope="col">{column}</th>
          <th scope="col" className="number w-24">
            {counted}
          </th>
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </Table>
  );
}

interface CountRowProps {
  /** Null: its page is gone. */
  readonly href: string | null;
  readonly name: string;
  readonly count: number;
  /** More about it, after the name. */
  readonly children: ReactNode;
}

export const CountRow = ({ href, name, count, children }: CountRowProps) => (
  <tr>
    <th scope="row" className="align-top">
      {href === null ? (
        <span className="wrap-anywhere">{name}</span>
      ) : (
        <Link href={href} className="inline-link wrap-anywhere">
          {name}
        </Link>
      )}
      {children}
    </th>
    <td className="number align-top">{whole(count)}</td>
  </tr>
);
