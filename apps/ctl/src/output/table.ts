export interface Column<T> {
  readonly title: string;
  readonly cell: (row: T) => string | number;
}

const GAP = '  ';
const ASCII = /^[\x20-\x7e]*$/;
const GRAPHEMES = new Intl.Segmenter('en', { granularity: 'grapheme' });
/** East Asian characters and emoji: a terminal gives each two columns. */
const WIDE =
  /^(?:[\u1100-\u115f\u2e80-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation})|\ufe0f/u;

/** How many columns of a terminal a text takes. */
function widthOf(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  for (const { segment } of GRAPHEMES.segment(text)) width += WIDE.test(segment) ? 2 : 1;
  return width;
}

const fill = (text: string, width: number): string => ' '.repeat(Math.max(0, width - widthOf(text)));

/** Aligned columns with titles. Numbers are right-aligned. "None." if there are no rows. */
export function table<T>(rows: readonly T[], columns: readonly Column<T>[]): string {
  if (rows.length === 0) return 'None.';
  const cells = rows.map((row) => columns.map(({ cell }) => cell(row)));
  const texts = cells.map((line) => line.map(shown));
  const widths = columns.map(({ title }, i) =>
    texts.reduce((width, line) => Math.max(width, widthOf(line[i] ?? '')), title.length),
  );
  const right = columns.map((_, i) => cells.every((line) => typeof line[i] === 'number'));
  const render = (line: readonly string[]) =>
    line
      .map((text, i) => {
        const space = fill(text, widths[i] ?? 0);
        return right[i] ? space + text : text + space;
      })
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
