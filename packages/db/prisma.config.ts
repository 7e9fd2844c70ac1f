/**
 * Only Prisma's command line reads this file, and Tidegate does not install it. It is for anyone
 * who prefers `npx prisma@7 migrate deploy` to our migration runner.
 */
export default {
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  ...(process.env.DATABASE_URL === undefined ? {} : { datasource: { url: process.env.DATABASE_URL } }),
};
