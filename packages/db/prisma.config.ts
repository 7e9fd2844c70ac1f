import { defineConfig } from 'prisma/config';

/** Read by Prisma's command line only: `generate` at build, and `migrate deploy` for who prefers it to our runner. */
export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  ...(process.env.DATABASE_URL === undefined ? {} : { datasource: { url: process.env.DATABASE_URL } }),
});
