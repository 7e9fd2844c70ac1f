import { withDeadline } from '@tidegate/runtime';
import { type DescribedServer, describeServer } from '@tidegate/upstream';
import type { UpstreamAccess } from '../upstream-access.ts';
import { inspect } from './inspect.ts';
import { probe } from './probe.ts';
import { describeProblems } from './problems.ts';

export interface CheckedServer extends UpstreamAccess {
  /** Ends in `/v1`. */
  readonly baseUrl: string;
  /** Empty: none. */
  readonly healthPath: string;
  readonly timeoutMs: number;
}

export interface ServerCheck {
  /** Why calls cannot work, in the words of a model's condition. Empty: no problem was found. */
  readonly problem: string;
  /** Undefined: it does not say what it is. */
  readonly described: DescribedServer | undefined;
}

/**
 * Finds out about a server before a model is published with it. It asks what probes ask, and what
 * the server serves. Never rejects.
 */
export async function checkServer(server: CheckedServer, signal: AbortSignal): Promise<ServerCheck> {
  const problem = await problemOf(server, signal);
  if (problem?.kind === 'no_answer' || signal.aborted)
    return { problem: problem ? describeProblems([problem]) : 'The check was ended.', described: undefined };
  const origin = server.baseUrl.replace(/\/v1$/, '');
  const described = await withDeadline(server.timeoutMs, signal, (limited) =>
    describeServer({ origin, key: server.key, signal: limited }),
  );
  return { problem: problem ? describeProblems([problem]) : '', described };
}

async function problemOf({ healthPath, ...given }: CheckedServer, signal: AbortSignal) {
  const server = { ...given, own: false };
  if (healthPath === '') return inspect(server, signal);
  const problem = await probe(server, healthPath, signal);
  if (problem) return problem;
  // Probes trust the health path. A wrong path in the URL is reported here, once.
  const doubt = await inspect({ ...server, name: '' }, signal);
  return doubt?.kind === 'misconfigured' ? doubt : null;
}
