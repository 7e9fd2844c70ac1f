/**
 * Says in plain words why a command failed. It hides the messages of client libraries, which are
 * about their internals.
 */
export async function failureOf(error: unknown): Promise<string> {
  const [{ explainPostgres }, { explainRedis }] = await Promise.all([
    import('@tidegate/db'),
    import('@tidegate/redis'),
  ]);
  const explained = explainPostgres(error) ?? explainRedis(error);
  if (explained !== null) return explained;
  const { name, message, code } = error instanceof Error ? (error as Error & { code?: unknown }) : DUMB;
  if (name.startsWith('PrismaClient')) return `Postgres could not do this${code ? ` (${code})` : ''}.`;
  return message.trim().split('\n').at(-1) ?? 'unknown cause';
}

const DUMB = { name: '', message: 'unknown cause', code: undefined };
