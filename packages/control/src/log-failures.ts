import { callFailure } from '@tidegate/rpc/call-failure';

/** Failures of the same kind are logged at most this often, because screens repeat their calls. */
const AGAIN_MS = 60_000;

export interface LogFailuresOptions {
  readonly service: 'limiter' | 'runner';
  readonly log: { warn(fields: object, message: string): void };
  /** Unix milliseconds. */
  readonly now: () => number;
}

/**
 * Logs why calls to a service fail, for operators. Users are only told that something is not
 * available, whatever the reason.
 *
 * @param port calls of a service, as closures
 */
export function logFailures<P extends object>(port: P, { service, log, now }: LogFailuresOptions): P {
  const loggedMs = new Map<string, number>();
  const report = (call: string, error: unknown): void => {
    const { code } = (error ?? {}) as { readonly code?: unknown };
    const kind = `${call} ${code}`;
    if (now() - (loggedMs.get(kind) ?? Number.NEGATIVE_INFINITY) < AGAIN_MS) return;
    loggedMs.set(kind, now());
    log.warn({ service, call, code, reason: callFailure(error) }, 'a call to a service failed');
  };
  const logged =
    (name: string, call: (...args: unknown[]) => unknown) =>
    (...args: unknown[]) => {
      const result = call(...args);
      if (result instanceof Promise) result.catch((error) => report(name, error));
      return result;
    };
  const calls = Object.entries(port).map(([name, member]) => [
    name,
    typeof member === 'function' ? logged(name, member) : member,
  ]);
  return Object.fromEntries(calls) as P;
}
