import type { UsageRowView } from '@tidegate/control';

const HEADER = [
  'day',
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

/** The usage as CSV (RFC 4180), oldest day first. */
export async function* csvOfUsage(
  days: readonly string[],
  rowsOf: (day: string) => Promise<readonly UsageRowView[]>,
): AsyncGenerator<string> {
  yield lineOf(HEADER);
  for (const day of days) {
    for (const row of await rowsOf(day)) {
      yield lineOf([
        day,
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

/** One line of CSV. */
export const lineOf = (values: readonly (string | number)[]): string => `${values.map(cell).join(',')}\r\n`;

/** Marks as text what a spreadsheet would read as a formula. */
function cell(value: string | number): string {
  if (typeof value === 'number') return String(value);
  const inert = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
}
