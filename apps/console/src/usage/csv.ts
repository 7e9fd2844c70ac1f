import type { UsageRowView } from '@tidegate/control';

const COLUMNS = [
  'key',
  'key_prefix',
  'key_id',
  'model',
  'model_id',
  'requests',
  'errors',
  'tokens_in',
  'tokens_out',
  'tokens_reserved_or_unreported',
  'average_ms',
];

/**
 * The usage as CSV (RFC 4180), oldest step first.
 *
 * @param unit what a step is
 * @param steps days or hours, as in the usage
 */
export async function* csvOfUsage(
  unit: 'day' | 'hour',
  steps: readonly string[],
  rowsOf: (step: string) => Promise<readonly UsageRowView[]>,
): AsyncGenerator<string> {
  yield lineOf([unit, ...COLUMNS]);
  for (const step of steps) {
    for (const row of await rowsOf(step)) {
      yield lineOf([
        step,
        row.key,
        row.keyPrefix ?? '',
        row.keyId,
        row.model,
        row.modelId,
        row.requests,
        row.errors,
        row.promptTokens,
        row.completionTokens,
        row.reservedTokens,
        row.averageMs ?? '',
      ]);
    }
  }
}

type Value = string | number | Readonly<Record<string, unknown>>;

/** One line of any CSV, with cells that are safe in spreadsheets. A record is written as JSON. */
export const lineOf = (values: readonly Value[]): string => `${values.map(cell).join(',')}\r\n`;

/** Where a cell can begin, also for a spreadsheet that separates cells with semicolons or tabs. */
const FORMULA = /(^|[;,\t\r\n"])(\s*)(?=[=+\-@\t\r\uff1d\uff0b\uff0d\uff20])/g;

/**
 * Marks as text what a spreadsheet would read as a formula. Where the comma is the decimal
 * separator, spreadsheets cut lines at semicolons, even at those in a cell with quotes. So a
 * formula after a separator is marked as well.
 */
function cell(value: Value): string {
  if (typeof value === 'number') return String(value);
  const inert = typeof value === 'string' ? value.replace(FORMULA, "$1$2'") : inertJson(value);
  return /[";,\t\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
}

/** What a formula begins with, after a semicolon. In JSON, semicolons are only in strings. */
const FORMULA_IN_JSON = /(?<=;\s*)[=+\-@\uff1d\uff0b\uff0d\uff20]/g;

/**
 * JSON begins with a brace, so it is no formula. After a semicolon, the sign of a formula is
 * escaped, not marked, so that whoever parses the JSON finds what was recorded.
 */
const inertJson = (value: object): string =>
  JSON.stringify(value).replace(
    FORMULA_IN_JSON,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
