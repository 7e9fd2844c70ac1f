export interface Column<T> {
  readonly title: string;
  readonly cell: (row: T) => string | number;
}

const GAP = '  ';

/** Aligned columns with titles. Numbers are right-aligned. "None." if there are no rows. */
export function table<T>(rows: readonly T[], columns: readonly Column<T>[]): string {
  if (rows.length === 0) return 'None.';
  const cells = rows.map((row) => columns.map(({ cell }) => cell(row)));
  const texts = cells.map((line) => line.map(shown));
  const widths = columns.map(({ title }, i) =>
    texts.reduce((width, line) => Math.max(width, line[i]?.length ?? 0), title.length),
  );
  const right = columns.map((_, i) => cells.every((line) => typeof line[i] === 'number'));
  const render = (line: readonly string[]) =>
    line
      .map((text, i) => (right[i] ? text.padStart(widths[i] ?? 0) : text.padEnd(widths[i] ?? 0)))
      .join(GAP)
      .trimEnd();
  return [render(columns.map(({ title }) => title)), ...texts.map(render)].join('\n');
}

const shown = (cell: string | number): string => (typeof cell === 'number' ? countText(cell) : cell);

const NUMBER = new Intl.NumberFormat('en-US');
export const countText = (value: number): string => NUMBER.format(value);

/** Such as `2026-11-21 12:05 UTC`, or `none`. */
export const time = (iso: string | null, none: string): string =>
  iso === null ? none : `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`;

/** One line for each pair. Values are aligned. */
export function facts(pairs: readonly (readonly [name: string, value: string | number])[]): string {
  const width = Math.max(...pairs.map(([name]) => name.length));
  return pairs.map(([name, value]) => `${name.padEnd(width)}${GAP}${shown(value)}`).join('\n');
}
