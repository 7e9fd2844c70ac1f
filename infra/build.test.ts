import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from '@jest/globals';

interface Config {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  readonly references?: readonly { readonly path: string }[];
}

const ROOT = join(import.meta.dirname, '..');
const read = (path: string) => JSON.parse(readFileSync(join(ROOT, path), 'utf8'));
/** What the build compiles: a workspace, or one of its configurations. */
const PROJECTS: string[] = read('tsconfig.build.json').references.map(({ path }: { path: string }) => path);
const folderOf = (project: string) => (project.endsWith('.json') ? dirname(project) : project);
const configOf = (project: string): Config =>
  read(project.endsWith('.json') ? project : join(project, 'tsconfig.json'));
const nameOf = (project: string): string => read(join(folderOf(project), 'package.json')).name;

/** The files that a project compiles. */
function filesOf(project: string): string[] {
  const { include, exclude } = configOf(project);
  const within = (file: string, paths: readonly string[]) =>
    paths.some((path) => file === path || file.startsWith(`${path}/`));
  return readdirSync(join(ROOT, folderOf(project), 'src'), { recursive: true, encoding: 'utf8' })
    .map((file) => `src/${file}`)
    .filter((file) => /\.ts$/.test(file) && !file.endsWith('.test.ts'))
    .filter((file) => within(file, include) && !within(file, exclude));
}

function importsOf(project: string): string[] {
  const names = filesOf(project).flatMap((file) => [
    ...readFileSync(join(ROOT, folderOf(project), file), 'utf8').matchAll(
      /(?:from |import\()'(@tidegate\/[a-z]+)(?:\/[a-z]+)?'/g,
    ),
  ]);
  return [...new Set(names.map(([, name = '']) => name))].sort();
}

describe('the build', () => {
  it('compiles each workspace that has sources', () => {
    const workspaces = ['apps', 'packages'].flatMap((group) =>
      readdirSync(join(ROOT, group)).map((name) => `${group}/${name}`),
    );
    const withSources = [...workspaces, 'infra/local'].filter((path) => existsSync(join(ROOT, path, 'src')));
    expect(PROJECTS.map(folderOf).sort()).toEqual(withSources.sort());
  });

  it.each(PROJECTS)('compiles what %s imports before it', (project) => {
    const referred = (configOf(project).references ?? []).map(({ path }) =>
      nameOf(relative(ROOT, join(ROOT, folderOf(project), path))),
    );
    expect(referred.sort()).toEqual(importsOf(project));
  });

  it.each(PROJECTS.filter((project) => project.startsWith('apps/')))(
    'leaves code for tests and benches out of %s',
    (project) => {
      expect(filesOf(project).filter((file) => /^src\/(testing|bench)\//.test(file))).toEqual([]);
      expect(importsOf(project)).not.toContain('@tidegate/testing');
    },
  );
});
