import { AsyncLocalStorage } from 'node:async_hooks';
import type { Db } from '@tidegate/db';
import type { prismaAdapter } from 'better-auth/adapters/prisma';

interface Call {
  failure?: unknown;
}

const calls = new AsyncLocalStorage<Call>();

/**
 * The database as better-auth uses it. better-auth answers some failures of the database as if the
 * browser had sent something wrong, and reports them to no one.
 */
export const withFailuresNoted = (db: Db): Parameters<typeof prismaAdapter>[0] =>
  db.$extends({
    query: {
      $allOperations: ({ args, query }) => noted(() => query(args)),
    },
  });

/**
 * Runs database work on behalf of better-auth. Its failures are noted as if better-auth had done
 * it.
 */
export async function noted<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (failure) {
    const call = calls.getStore();
    if (call && !isExpected(failure)) call.failure ??= failure;
    throw failure;
  }
}

/** Another call was first to change the row, or the row is there already. Neither is a failure. */
const EXPECTED = ['P2025', 'P2002'];
const isExpected = (failure: unknown): boolean =>
  failure instanceof Error && 'code' in failure && EXPECTED.includes(String(failure.code));

/**
 * Calls better-auth. Rejects if the database fails during the call, whatever better-auth makes of
 * that.
 */
export async function throwingFailures(call: () => Promise<Response>): Promise<Response> {
  const current: Call = {};
  const response = await calls.run(current, call);
  if (current.failure !== undefined) throw current.failure;
  return response;
}
