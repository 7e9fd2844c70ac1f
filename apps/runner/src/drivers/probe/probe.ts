import { get } from './get.ts';
import { type InspectedServer, inspect, misconfigured, type Problem } from './inspect.ts';

/** Finds out whether calls to a server can work: at its health path, if one was given. */
export const probe = (
  server: InspectedServer,
  healthPath: string | undefined,
  signal: AbortSignal,
): Promise<Problem | null> =>
  healthPath === undefined ? inspect(server, signal) : probeHealth(server, healthPath, signal);

/** Nothing is known of the path, so any answer that says nothing against it is healthy. */
async function probeHealth(
  { baseUrl, key, timeoutMs, get: ask = get }: InspectedServer,
  healthPath: string,
  signal: AbortSignal,
): Promise<Problem | null> {
  const url = new URL(healthPath, baseUrl);
  const answer = await ask({ url: url.href, key, timeoutMs }, signal);
  if (typeof answer === 'string') return { kind: 'no_answer', words: answer };
  const { status } = answer;
  if (status >= 500) return { kind: 'no_answer', words: `HTTP ${status}` };
  const path = url.pathname;
  if (status === 404) return misconfigured(`There is nothing at the health path ${path} (404).`);
  if (status !== 401 && status !== 403) return null;
  return misconfigured(
    key
      ? `The server refused the upstream key at the health path ${path} (${status}).`
      : `The server asks for an upstream key at the health path ${path} (${status}), and the model has none.`,
  );
}
