import { describe, expect, it } from '@jest/globals';
import { createTerminal } from './setup/terminal.mjs';

const written = () => {
  const texts: string[] = [];
  return { texts, write: (text: string) => texts.push(text) };
};
const work = (note: (text: string) => void, progress: (text: string) => void) => {
  progress('1 of 2');
  progress('2 of 2');
  note('installed');
};

describe('progress of a phase', () => {
  it('is a line of its own where nothing can move on the screen', async () => {
    const out = written();
    await createTerminal(out, { progressEveryMs: 0 }).phase('packages', work, { slow: 'a minute' });
    expect(out.texts.slice(0, 3)).toEqual([
      '  … packages (a minute)\n',
      '    packages 1 of 2\n',
      '    packages 2 of 2\n',
    ]);
    expect(out.texts.at(-1)).toMatch(/^ {2}✓ packages installed +\d+\.\d s\n$/);
  });

  it('gets such a line only now and then', async () => {
    const out = written();
    await createTerminal(out, { progressEveryMs: 60_000 }).phase('packages', work);
    expect(out.texts).toHaveLength(1);
  });

  it('leaves one line on a screen', async () => {
    const out = written();
    await createTerminal({ ...out, isTTY: true }, { progressEveryMs: 0 }).phase('packages', work);
    expect(out.texts.join('').split('\n')).toHaveLength(2);
  });
});
