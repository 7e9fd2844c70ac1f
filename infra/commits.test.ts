import { execFileSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

const ROOT = join(import.meta.dirname, '..');
/** Subjects must be shorter. */
const CHARACTERS = 72;
/** Older commits came before the check, and 243 of them have longer subjects. */
const SINCE = '2026-11-25T00:00:00Z';

/**
 * Without the variables that git sets for hooks: they would lead to the repository that runs the
 * hook.
 */
const ENV = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_')));

const git = (folder: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): string =>
  execFileSync('git', ['-C', folder, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...ENV, ...env },
  });

/**
 * The subjects of the folder's commits, in a shallow clone perhaps only of the last one. Merges are
 * left out: services write them, with two hashes. Null: the folder is not a git checkout but, for
 * example, an unpacked archive, even if that lies within another checkout.
 */
function subjectsIn(folder: string): string[] | null {
  try {
    if (git(folder, ['rev-parse', '--show-toplevel']).trim() !== realpathSync(folder)) return null;
    git(folder, ['rev-parse', '--verify', 'HEAD']);
  } catch {
    return null;
  }
  return git(folder, ['log', `--since=${SINCE}`, '--no-merges', '--format=%s'])
    .split('\n')
    .filter(Boolean);
}

const tooLong = (subjects: readonly string[]): string[] =>
  subjects.filter((subject) => [...subject].length >= CHARACTERS);

describe('commits', () => {
  const subjects = subjectsIn(ROOT);
  if (subjects === null)
    it.skip('are not checked: this folder is not a git checkout with commits', () => undefined);
  else
    it(`have subjects of fewer than ${CHARACTERS} characters`, () => {
      expect(tooLong(subjects)).toEqual([]);
    });
});

describe('the check of commits', () => {
  const long = 'x'.repeat(CHARACTERS);
  const fits = 'ü'.repeat(CHARACTERS - 1);
  let folder: string;
  let origin: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'tidegate-commits-'));
    origin = join(folder, 'origin');
    git(folder, ['init', '--quiet', origin]);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const commit = (subject: string, date: string): void => {
    const identity = ['-c', 'user.name=A', '-c', 'user.email=a@example.com', '-c', 'commit.gpgSign=false'];
    const options = ['--quiet', '--allow-empty', '--no-verify', '-m', `${subject}\n\n${long}`];
    git(origin, [...identity, 'commit', ...options], { GIT_COMMITTER_DATE: date, GIT_AUTHOR_DATE: date });
  };

  it('skips what is not a checkout of its own, and a checkout without commits', () => {
    expect(subjectsIn(folder)).toBeNull();
    expect(subjectsIn(origin)).toBeNull();
  });

  it('finds the newer subjects that are too long, also in a shallow clone', () => {
    commit(`old ${long}`, '2026-11-24T23:59:59Z');
    commit(`new ${long}`, SINCE);
    commit(fits, SINCE);
    expect(subjectsIn(origin)).toEqual([fits, `new ${long}`]);
    expect(tooLong([fits, `new ${long}`])).toEqual([`new ${long}`]);
    const clone = join(folder, 'clone');
    git(folder, ['clone', '--quiet', '--depth=1', `file://${origin}`, clone]);
    expect(subjectsIn(clone)).toEqual([fits]);
    expect(subjectsIn(join(clone, '.git'))).toBeNull();
  });
});
