import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from '@jest/globals';
import { run } from '../command.mjs';

const dir = mkdtempSync(join(tmpdir(), 'tidegate-jest-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const ours = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const CONFIG = {
  rootDir: dir,
  testMatch: ['**/*.test.mjs'],
  transform: {},
  testEnvironment: ours('environment.mjs'),
  runtime: ours('runtime.mjs'),
  testRunner: ours('runner.mjs'),
};

const testFile = (name: string) => `
import { appendFileSync } from 'node:fs';
import { afterAll, afterEach, expect, it, jest } from '@jest/globals';
const { seen } = await import('./shared.mjs');
afterEach(() => void seen.push('hook of ${name}'));
afterAll(() => appendFileSync(new URL('seen', import.meta.url), JSON.stringify(seen) + '\\n'));
it('${name} finds what is real', async () => {
  seen.push('${name}');
  expect(Math.random()).toBeLessThan(1);
  await new Promise((resolve) => setTimeout(resolve, 1));
});
it('${name} replaces it', () => {
  jest.useFakeTimers();
  jest.spyOn(Math, 'random').mockReturnValue(7);
  expect(Math.random()).toBe(7);
});
`;

describe('the test files of one worker', () => {
  it('share modules, and no test, hook, spy or fake timer', async () => {
    writeFileSync(join(dir, 'shared.mjs'), 'export const seen = [];\n');
    for (const name of ['a', 'b']) writeFileSync(join(dir, `${name}.test.mjs`), testFile(name));
    const jest = createRequire(import.meta.url).resolve('jest/bin/jest');
    const args = [jest, '--config', JSON.stringify(CONFIG), '--runInBand', '--json', '--verbose=false'];
    const env = { ...process.env, NODE_OPTIONS: '--experimental-vm-modules' };
    const report = JSON.parse(await run(process.execPath, args, { cwd: dir, env })) as {
      testResults: { assertionResults: { title: string; status: string }[] }[];
    };
    const results = report.testResults.map(({ assertionResults }) =>
      assertionResults.map(({ title, status }) => [title, status]),
    );
    const both = (name: string) => [
      [`${name} finds what is real`, 'passed'],
      [`${name} replaces it`, 'passed'],
    ];
    expect(results).toHaveLength(2);
    expect(results).toEqual(expect.arrayContaining([both('a'), both('b')]));
    const ofFile = (name: string) => [name, `hook of ${name}`, `hook of ${name}`];
    const seen = readFileSync(join(dir, 'seen'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const [first, second] = seen[0]?.[0] === 'a' ? ['a', 'b'] : ['b', 'a'];
    expect(seen).toEqual([ofFile(first), [...ofFile(first), ...ofFile(second)]]);
  });
});
