import { get } from './get.ts';
import { healthProbeUrl } from './health-url.ts';
import { type InspectedServer, inspect, misconfigured, type Problem } from './inspect.ts';

/**
 * Finds out whether calls to a server can work. If there is a health path, it says whether the
 * server is up. Models have one where the list of models is incomplete or missing, so the list is
 * used only to see whether the key is refused.
 */
export async function probe(
  server: InspectedServer,
  healthPath: string | undefined,
  signal: AbortSignal,
): Promise<Problem | null> {
  if (healthPath === undefined) return inspect(server, signal);
  const unhealthy = await probeHealth(server, healthPath, signal);
  if (unhealthy) return unhealthy;
  const problem = await inspect({ ...server, name: '', hasHealthPath: true }, signal);
  return problem?.kind === 'misconfigured' ? problem : null;
}

/** Nothing is known about the path, so any answer that reports no problem counts as healthy. */
async function probeHealth(
  { baseUrl, key, timeoutMs, get: ask = get }: InspectedServer,
  healthPath: string,
  signal: AbortSignal,
): Promise<Problem | null> {
  const url = healthProbeUrl(baseUrl, healthPath);
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
