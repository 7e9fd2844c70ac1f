import { AsyncLocalStorage } from 'node:async_hooks';
import type { Db } from '@tidegate/db';
import type { prismaAdapter } from 'better-auth/adapters/prisma';

interface Call {
  failure?: unknown;
}

const calls = new AsyncLocalStorage<Call>();

/**
 * The database as better-auth uses it. better-auth answers some failures of the database as if the
 * browser had sent something wrong, and tells them to nobody.
 */
export const withFailuresNoted = (db: Db): Parameters<typeof prismaAdapter>[0] =>
  db.$extends({
    query: {
      $allOperations: async ({ args, query }) => {
        try {
          return await query(args);
        } catch (failure) {
          const call = calls.getStore();
          if (call) call.failure ??= failure;
          throw failure;
        }
      },
    },
  });

/** Calls better-auth. Rejects if the database fails in it, whatever better-auth makes of that. */
export async function throwingFailures(call: () => Promise<Response>): Promise<Response> {
  const noted: Call = {};
  const response = await calls.run(noted, call);
  if (noted.failure !== undefined) throw noted.failure;
  return response;
}
