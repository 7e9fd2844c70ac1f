import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { isInstalled, needed } from './setup/packages.mjs';

const LOCK = {
  '': { devDependencies: { lint: '1' } },
  'apps/a': { dependencies: { library: '1' }, devDependencies: { builder: '1' } },
  tests: { dependencies: { client: '1' } },
  'node_modules/@house/a': { resolved: 'apps/a', link: true },
  'node_modules/@house/tests': { resolved: 'tests', link: true },
  'apps/a/node_modules/library': {
    version: '1.0.0',
    optionalDependencies: { 'library-other': '1' },
    peerDependencies: { peer: '1', client: '1' },
    peerDependenciesMeta: { client: { optional: true } },
  },
  'node_modules/library': { version: '2.0.0' },
  'node_modules/library-other': { version: '1.0.0', optional: true },
  'node_modules/peer': { version: '1.0.0' },
  'node_modules/builder': { version: '1.0.0' },
  'node_modules/client': { version: '1.0.0', dependencies: { library: '2' } },
  'node_modules/lint': { version: '1.0.0' },
};
const PRODUCT = [
  'apps/a/node_modules/library',
  'node_modules/builder',
  'node_modules/library-other',
  'node_modules/peer',
];

let root: string;
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'tidegate-packages-'));
  await mkdir(join(root, 'node_modules'));
  write('package-lock.json', LOCK);
});
afterEach(() => rmSync(root, { recursive: true }));

const write = (file: string, packages: object): void =>
  writeFileSync(join(root, file), JSON.stringify({ packages }));
/** The packages that npm has installed. */
const present = (paths: string[], changed: object = {}): void =>
  write('node_modules/.package-lock.json', {
    ...Object.fromEntries(Object.entries(LOCK).filter(([path]) => paths.includes(path))),
    ...changed,
  });

describe('what is installed', () => {
  it('for the product is what its workspaces depend on, as Node finds it, without the tools and the test clients', () => {
    expect([...needed(LOCK, 'product')].sort()).toEqual(PRODUCT);
  });

  it('suffices for the product, but not for everything, if only packages of other platforms are missing', () => {
    present(PRODUCT.filter((path) => path !== 'node_modules/library-other'));
    expect(isInstalled(root, 'product')).toBe(true);
    expect(isInstalled(root, 'everything')).toBe(false);
  });

  it('suffices for the product too when it is everything', () => {
    present(Object.keys(LOCK).filter((path) => path !== ''));
    expect(isInstalled(root, 'everything')).toBe(true);
    expect(isInstalled(root, 'product')).toBe(true);
  });

  it('does not suffice if a package is missing or differs from the lock, or if npm did not finish', () => {
    expect(isInstalled(root, 'product')).toBe(false);
    present(PRODUCT.filter((path) => path !== 'node_modules/peer'));
    expect(isInstalled(root, 'product')).toBe(false);
    present(PRODUCT, { 'node_modules/peer': { version: '1.0.1' } });
    expect(isInstalled(root, 'product')).toBe(false);
  });
});

describe("the product's packages", () => {
  const { packages } = JSON.parse(readFileSync(join(import.meta.dirname, '../package-lock.json'), 'utf8'));
  const product = [...needed(packages, 'product')];

  it('hold neither lint, test runner, test clients nor browsers', () => {
    const tools =
      /^node_modules\/(@biomejs\/biome|jest|knip|dependency-cruiser|playwright-core|openai|ai|@langchain\/core)$/;
    expect(product.filter((path) => tools.test(path))).toEqual([]);
  });

  it("hold one react-aria, no other library of components, and not Prisma's command line", () => {
    const large = /node_modules\/(react-aria|@adobe\/react-spectrum|prisma|effect)$/;
    expect(product.filter((path) => large.test(path))).toEqual(['node_modules/react-aria']);
  });
});
