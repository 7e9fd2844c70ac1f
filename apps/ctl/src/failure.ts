/**
 * Says in plain words why a command failed. It hides the messages of client libraries, which are
 * about their internals.
 *
 * @param localDir the folder of the local stack that the command is for, if any
 */
export async function failureOf(error: unknown, localDir: string | null = null): Promise<string> {
  const [{ explainPostgres }, { explainRedis }] = await Promise.all([
    import('@tidegate/db'),
    import('@tidegate/redis'),
  ]);
  const explained = explainPostgres(error) ?? explainRedis(error);
  const remedy = `If the local stack in ${localDir} is not running, start it (npm start).`;
  if (explained !== null) return localDir === null ? explained : `${explained}\n${remedy}`;
  const { name, message, code } = error instanceof Error ? (error as Error & { code?: unknown }) : DUMB;
  if (name.startsWith('PrismaClient')) return `Postgres could not do this${code ? ` (${code})` : ''}.`;
  return message.trim().split('\n').at(-1) ?? 'unknown cause';
}

const DUMB = { name: '', message: 'unknown cause', code: undefined };
