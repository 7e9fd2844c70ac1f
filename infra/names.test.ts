import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const ROOT = join(import.meta.dirname, '..');
const PRODUCT = ['apps/*/src/*', 'packages/*/src/*', 'infra/local/src/*'];
/** Tests and what only they load. */
const NOT_PRODUCT = /\.test\.tsx?$|\/testing\/|\/fixture\.ts$|^packages\/testing\/|\/generated\/|\.d\.ts$/;
const EXPORT =
  /^export (?:declare )?(?:async )?(?:abstract )?(?:const|let|function\*?|class|interface|type|enum) (\w+)/gm;

/** Names that mean the same wherever they are, by the reason why they are in several files. */
const SHARED: Readonly<Record<string, readonly string[]>> = {
  'Next asks for them': ['GET', 'POST', 'generateMetadata', 'metadata'],
  'each program has its own': ['Config', 'USAGE', 'readConfig', 'schema', 'startServer'],
  'the gateway asks for it, the limiter decides, and the model in packages/limits computes it': [
    ...['admit', 'authenticate', 'reserve', 'settle', 'withdraw'],
  ],
  'control does it in Postgres, the limiter in Redis': ['revokeKey'],
  'each finds the published model of a name, if the caller may have it': ['findModel'],
  'the runner sends it, and control receives it': ['DownReplica', 'ReplicaCount'],
};
/** A server action has the name of the operation of control that it calls. */
const isAction = (path: string): boolean => /^apps\/console\/src\/\w+\/actions\.ts$/.test(path);
const isControl = (path: string): boolean => path.startsWith('packages/control/');

const mayShare = (name: string, paths: readonly string[]): boolean =>
  Object.values(SHARED).flat().includes(name) ||
  (paths.length === 2 && paths.some(isAction) && paths.some(isControl));

function namesIn(files: Iterable<readonly [path: string, text: string]>): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const [path, text] of files) {
    for (const [, name = ''] of text.matchAll(EXPORT)) {
      const paths = found.get(name) ?? [];
      if (!paths.includes(path)) found.set(name, [...paths, path]);
    }
  }
  return found;
}

const severalIn = (names: ReadonlyMap<string, readonly string[]>): string[] =>
  [...names]
    .filter(([name, paths]) => paths.length > 1 && !mayShare(name, paths))
    .map(([name, paths]) => `${name}: ${paths.join(', ')}`);

function productFiles(): [string, string][] {
  const listed = execFileSync('git', ['ls-files', '-z', ...PRODUCT], { cwd: ROOT, encoding: 'utf8' });
  return listed
    .split('\0')
    .filter((path) => /\.tsx?$/.test(path) && !NOT_PRODUCT.test(path) && existsSync(join(ROOT, path)))
    .map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]);
}

describe('exported names of the product', () => {
  const names = namesIn(productFiles());

  it('mean one thing each: no two files declare the same one', () => {
    expect(severalIn(names)).toEqual([]);
  });

  it('are shared only where the list of shared ones says why', () => {
    const unused = Object.values(SHARED)
      .flat()
      .filter((name) => (names.get(name)?.length ?? 0) < 2);
    expect(unused).toEqual([]);
  });
});

describe('the check of names', () => {
  it.each([
    ['two functions', 'export const a = 1;', 'export async function a() {}', ['a: x.ts, y.ts']],
    ['a class and a type', 'export class A {}', 'export type A = 1;', ['A: x.ts, y.ts']],
    ['two in one file', 'export function a(b: 1): 1;\nexport function a(b: 2): 2;', '', []],
    ['one that is passed on', 'export const a = 1;', "export { a } from './x.ts';", []],
    ['one that is not exported', 'export const a = 1;', 'const a = 1;', []],
    ['the shared ones', 'export const metadata = 1;', 'export const metadata = 1;', []],
  ])('is right about %s', (_what, one, other, found) => {
    expect(severalIn(namesIn(Object.entries({ 'x.ts': one, 'y.ts': other })))).toEqual(found);
  });
});
