import { expect, it } from '@jest/globals';
import { ctl } from './testing/ctl.ts';

it('helps with each command', async () => {
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

it.each(['help nope', 'help key nope', 'key help nope', 'key nope', 'nope'])(
  'names the command of `%s` that does not exist',
  async (words) => {
    const err = "error: unknown command 'nope'\nTry --help.\n";
    expect(await ctl(words.split(' '), {})).toEqual({ status: 1, out: '', err });
  },
);
