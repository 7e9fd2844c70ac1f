import { createRequire } from 'node:module';

/** The release's version: all packages have the same one. */
export const { version } = createRequire(import.meta.url)('../package.json') as { version: string };
