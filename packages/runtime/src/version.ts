import { createRequire } from 'node:module';

/** The release's: all packages have the same. */
export const { version } = createRequire(import.meta.url)('../package.json') as { version: string };
