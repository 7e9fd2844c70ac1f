/** What jest's global setup hands to the tests of a run, through the environment. */
export const TEST_ENV = {
  /** URL of the run's Postgres server, as a superuser. */
  postgres: 'TIDEGATE_TEST_POSTGRES',
  /** Set if databases are to stay until that server's whole folder is removed. */
  keepDatabases: 'TIDEGATE_TEST_KEEP_DATABASES',
  /** Name of the migrated database that each test's own is a copy of. */
  template: 'TIDEGATE_TEST_TEMPLATE',
  /** The Redis server binary that was found, as JSON. */
  redis: 'TIDEGATE_TEST_REDIS',
  /** Set it to anything, and every Redis of the tests is a cluster of three masters. */
  cluster: 'TIDEGATE_TEST_CLUSTER',
  /** How many times the usual number of random cases the limiter's histories try. Default: 1. */
  cases: 'TIDEGATE_TEST_CASES',
  /** URL that starts the stack that test files share, if it does not run yet, and describes it. */
  sharedStack: 'TIDEGATE_TEST_STACK',
  /** The run's scratch directory, removed at its end. */
  directory: 'TIDEGATE_TEST_DIR',
} as const;

/** @throws Error when global setup did not run */
export function testEnv(name: keyof typeof TEST_ENV): string {
  const value = process.env[TEST_ENV[name]];
  if (value === undefined)
    throw new Error(`${TEST_ENV[name]} is not set: run the tests through jest and its global setup`);
  return value;
}

/**
 * The number of random cases to try: `usual` in every `npm test`, or the multiple of it that the
 * run asks for.
 */
export const cases = (usual: number): number => usual * Number(process.env[TEST_ENV.cases] ?? 1);
