/**
 * Makes a log readable. Reduces a service's JSON line to the level, the message and the error's
 * message. Keeps other lines as they are.
 */
export const plainLog = (text: string): string => text.split('\n').map(plainLine).join('\n');

function plainLine(line: string): string {
  let record: unknown;
  try {
    record = JSON.parse(line);
  } catch {
    return line;
  }
  const { level, msg, err, error } = (record ?? {}) as Record<string, unknown>;
  if (typeof msg !== 'string') return line;
  const cause = ((err ?? error) as { message?: unknown } | undefined)?.message;
  const said = typeof cause === 'string' && cause !== msg ? `${msg}: ${cause}` : msg;
  return typeof level === 'string' ? `${level}: ${said}` : said;
}
