import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const root = resolve(import.meta.dirname, '..');
const config = join(root, '.dependency-cruiser.cjs');
const depcruise = join(root, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');

const manifest = (name: string, more: object = {}) =>
  JSON.stringify({ name, type: 'module', exports: { '.': { default: './src/index.ts' } }, ...more });
const library = (name: string) => ({
  [`node_modules/${name}/package.json`]: JSON.stringify({ name, main: 'index.js' }),
  [`node_modules/${name}/index.js`]: 'module.exports = {};',
});

/** A small repository that breaks each rule once. The comments name the rules. */
const house: Record<string, string> = {
  'package.json': manifest('house', {
    dependencies: { zod: '1', ioredis: '1', '@prisma/client': '1', '@opentelemetry/api': '1' },
  }),
  ...library('zod'),
  ...library('ioredis'),
  ...library('@prisma/client'),
  ...library('@opentelemetry/api'),
  ...library('undeclared'),
  ...library('toolish'),
  'packages/limits/package.json': manifest('@house/limits'),
  'packages/limits/src/index.ts': [
    "import { readFile } from 'node:fs/promises';", // pure-packages-do-no-io
    "import Redis from 'ioredis';", // pure-packages-have-no-clients
    "import type { Db } from '../../db/src/index.ts';", // pure-packages-import-pure-ones
    'export const kept = [readFile, Redis] as unknown as Db[];',
  ].join('\n'),
  'packages/db/package.json': manifest('@house/db'),
  'packages/db/src/index.ts': 'export type Db = string;',
  'packages/db/src/inner.ts': 'export const inner = 1;',
  'packages/testing/src/index.ts': 'export const harness = 1;',
  'packages/embedded/src/index.ts': 'export const server = 1;',
  'packages/control/package.json': manifest('@house/control', { devDependencies: { toolish: '1' } }),
  'packages/control/src/index.ts': [
    "import '../../../apps/gateway/src/app.ts';", // package-not-to-app
    "import '../../../infra/local/src/index.ts';", // product-not-to-its-surroundings
    "import 'toolish';", // no-dev-dependency-at-run-time
    "import 'undeclared';", // declared
    "import './nowhere.ts';", // resolvable
    "import { PrismaClient } from '@prisma/client';", // only-db-knows-prisma
    "import '../../embedded/src/index.ts';", // embedded-is-for-machines-without
    'export { PrismaClient };',
  ].join('\n'),
  // tests-use-public-surfaces
  'infra/local/src/index.ts': "import '../../../apps/gateway/src/app.ts'; export {};",
  'apps/gateway/package.json': manifest('@house/gateway', { imports: { '#*': './src/*' } }),
  'apps/gateway/src/app.ts': [
    "import { b } from './b.ts';",
    "import '@opentelemetry/api';", // only-tracing-knows-opentelemetry
    "import '../../limiter/src/x.ts';", // app-not-to-app
    "import '../../../packages/db/src/inner.ts';", // through-the-index, gateway-knows-no-store
    "import '../../../packages/testing/src/index.ts';", // test-harness-does-not-ship
    "import './main.ts';", // main-is-the-root
    "import '#b.ts';", // alias-is-for-screens
    'export const a = b;',
  ].join('\n'),
  // no-cycles
  'apps/gateway/src/b.ts': "import type { a } from './app.ts'; export const b = 1 as unknown as typeof a;",
  'apps/gateway/src/main.ts': 'export {};',
  'apps/limiter/src/x.ts': 'export const x = 1;',
  'apps/console/src/page.tsx': 'export const Page = () => <p>{1 as number}</p>;',
};

const cruise = (cwd: string): Promise<string> =>
  new Promise((done, fail) => {
    const args = [depcruise, '--config', config, '--output-type', 'json', 'apps', 'packages', 'infra'];
    execFile(process.execPath, args, { cwd, maxBuffer: 64 << 20 }, (error, stdout, stderr) =>
      stdout ? done(stdout) : fail(error ?? new Error(stderr)),
    );
  });

describe('module boundaries', () => {
  it('every rule finds the import that breaks it', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'tidegate-boundaries-'));
    try {
      for (const [path, text] of Object.entries(house)) {
        await mkdir(dirname(join(dir, path)), { recursive: true });
        await writeFile(join(dir, path), text);
      }
      const { summary } = JSON.parse(await cruise(dir)) as {
        summary: { violations: { rule: { name: string } }[] };
      };
      const found = new Set(summary.violations.map((violation) => violation.rule.name));
      const { forbidden } = createRequire(import.meta.url)(config) as { forbidden: { name: string }[] };
      expect([...found].sort()).toEqual(forbidden.map((rule) => rule.name).sort());
    } finally {
      await rm(dir, { recursive: true });
    }
  });
});
