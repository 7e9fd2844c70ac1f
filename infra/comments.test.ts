import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const COLUMNS = 100;
const ROOT = join(import.meta.dirname, '..');
const SLASHES = { line: String.raw`\/\/`, block: true };
const DASHES = { line: '--', block: false };
const HASHES = { line: '#', block: false };
const SYNTAX: Readonly<Record<string, typeof SLASHES>> = {
  ts: SLASHES,
  tsx: SLASHES,
  mjs: SLASHES,
  cjs: SLASHES,
  css: SLASHES,
  proto: SLASHES,
  lua: DASHES,
  sql: DASHES,
  prisma: { line: String.raw`\/\/+`, block: false },
  sh: HASHES,
  yaml: HASHES,
  yml: HASHES,
  conf: HASHES,
  Dockerfile: HASHES,
};
/** Databases keep each migration's hash, so a migration's comments can never change. */
const UNCHANGEABLE = /^packages\/db\/prisma\/migrations\/|\/generated\//;
const extensionOf = (path: string): string =>
  path.slice(Math.max(path.lastIndexOf('.'), path.lastIndexOf('/')) + 1);

function trackedFiles(): string[] {
  const listed = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' }).split('\0');
  const checked = listed.filter((path) => extensionOf(path) in SYNTAX && !UNCHANGEABLE.test(path));
  return checked.filter((path) => existsSync(join(ROOT, path)));
}

/** The numbers of the lines whose comment is too long. A line with a URL is exempt. */
function tooLong(text: string, { line: mark, block }: typeof SLASHES): number[] {
  const comment = new RegExp(String.raw`^\s*${mark}|[;,{}()]\s+${mark}\s`);
  let within = false;
  return text.split('\n').flatMap((line, index) => {
    const inBlock = block && (within || /^\s*\{?\/\*/.test(line));
    within = inBlock && !line.includes('*/');
    const isComment = inBlock || comment.test(line);
    return isComment && line.length > COLUMNS && !/https?:\/\//.test(line) ? [index + 1] : [];
  });
}

describe('comments', () => {
  it(`stay within ${COLUMNS} columns`, () => {
    const found = trackedFiles().flatMap((path) =>
      tooLong(readFileSync(join(ROOT, path), 'utf8'), SYNTAX[extensionOf(path)] ?? SLASHES).map(
        (line) => `${path}:${line}`,
      ),
    );
    expect(found).toEqual([]);
  });
});

describe('the check of comments', () => {
  const words = 'x'.repeat(COLUMNS);
  it.each([
    ['on a line', SLASHES, `// ${words}`],
    ['after code', SLASHES, `f(); // ${words}`],
    ['in a block', SLASHES, `  /** ${words} */`],
    ['in the middle of a block', SLASHES, `/*\n * ${words}\n */`, [2]],
    ['in JSX', SLASHES, `{/* ${words} */}`],
    ['in Lua or SQL', DASHES, `-- ${words}`],
    ['after Lua or SQL', DASHES, `f(), -- ${words}`],
    ['in YAML, a shell script or a Dockerfile', HASHES, `  # ${words}`],
  ])('finds one that is too long %s', (_where, syntax, text, lines = [1]) => {
    expect(tooLong(text, syntax)).toEqual(lines);
  });

  it.each([
    ['code', SLASHES, `f('${words}');`],
    ['code after a block', SLASHES, `/* a */\nf('${words}');`],
    ['a # inside a YAML string', HASHES, `a: "b # ${words}"`],
    ['a URL', SLASHES, `// https://example.com/${words}`],
    ['a comment that fits', SLASHES, `// ${'x'.repeat(COLUMNS - 3)}`],
  ])('accepts %s', (_what, syntax, text) => {
    expect(tooLong(text, syntax)).toEqual([]);
  });
});
