/** The URL of the database to migrate. @throws Error that names the variable */
export function migrationUrl(env: NodeJS.ProcessEnv = process.env): string {
  const url = env.DATABASE_URL;
  if (url === undefined || url === '') throw new Error('DATABASE_URL is not set');
  return url;
}
