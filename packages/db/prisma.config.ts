/**
 * Read by Prisma's command line only, which Tidegate does not install: `npx prisma@7 migrate deploy` for anyone who prefers it to
 * our runner.
 */
export default {
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  ...(process.env.DATABASE_URL === undefined ? {} : { datasource: { url: process.env.DATABASE_URL } }),
};
