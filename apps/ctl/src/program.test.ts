import { expect, it } from '@jest/globals';
import { ctl } from './testing/ctl.ts';

it('has help for each command', async () => {
  const usageOf = async (...args: string[]) => {
    const { status, out, err } = await ctl(args, {});
    expect({ status, err }).toEqual({ status: 0, err: '' });
    return out.split('\n')[0];
  };
  expect(await usageOf('help')).toBe('Usage: ctl [options] [command]');
  expect(await usageOf('help', 'key')).toBe('Usage: ctl key [options] [command]');
  expect(await usageOf('help', 'key', 'list')).toBe('Usage: ctl key list [options]');
  expect(await usageOf('key', 'help', 'list')).toBe('Usage: ctl key list [options]');
});

/** Keeps commands away from a local stack of whoever runs the tests. */
const nowhere = { TIDEGATE_DATA_DIR: '/dev/null/none' };

it('lists --org where it means something, and takes it everywhere', async () => {
  const about = ['org list', 'key list', 'model show', 'usage show', 'audit list', 'member add'];
  const without = ['org create', 'plan set', 'plan list', 'pool set', 'queue replay', 'secrets reseal'];
  const helpOf = async (words: string) => (await ctl(['help', ...words.split(' ')], {})).out;
  for (const words of about)
    expect([words, await helpOf(words)]).toEqual([words, expect.stringContaining('--org ')]);
  for (const words of [...without, 'member set-password', 'member delete', 'queue status', 'doctor']) {
    expect([words, await helpOf(words)]).toEqual([words, expect.not.stringContaining('--org ')]);
    expect((await ctl([...words.split(' '), '--org', 'acme'], nowhere)).err).not.toContain('unknown option');
  }
});

it('names all required options that are missing', async () => {
  expect(await ctl(['key', 'create', '--rpm', '3'], {})).toMatchObject({
    status: 1,
    err: "error: required option '--name <name>' not specified\nTry --help.\n",
  });
  const { err } = await ctl(['model', 'publish', '--name', 'm'], {});
  expect(err.match(/required option '(--\w+)/g)).toEqual([
    "required option '--kind",
    "required option '--mode",
    "required option '--context",
  ]);
});

it('takes no option as the value of another, and none twice', async () => {
  expect(await ctl(['key', 'create', '--name', '--json'], nowhere)).toEqual({
    status: 1,
    out: '',
    err: "error: option '--name <name>' needs a value, and --json is an option\nTry --help.\n",
  });
  for (const [option, a, b] of [
    ['--id', 'key_a', 'key_b'],
    ['--org', 'acme', 'acme'],
  ] as const)
    expect((await ctl(['key', 'revoke', option, a, option, b], nowhere)).err).toContain(
      'may be given only once',
    );
  const twice = ['--password', 'first-secret', '--password', 'second-secret'];
  const { err } = await ctl(['member', 'set-password', '--email', 'a@example.com', ...twice], nowhere);
  expect(err).toMatch(/^error: option '--password <\w+>' may be given only once\n/);
  expect(err).not.toContain('-secret');
});

it.each(['help nope', 'help key nope', 'key help nope', 'key nope', 'nope'])(
  'names the command of `%s` that does not exist',
  async (words) => {
    const err = "error: unknown command 'nope'\nTry --help.\n";
    expect(await ctl(words.split(' '), {})).toEqual({ status: 1, out: '', err });
  },
);

it('refuses an argument that is not UTF-8, in which Node has put U+FFFD', async () => {
  const refused = { status: 1, out: '', err: 'An argument is not UTF-8.\n' };
  expect(await ctl(['key', 'create', '--name', 'M\ufffdnchen'], nowhere)).toEqual(refused);
});
