import { describe, expect, it } from '@jest/globals';
import { untilDone } from './until-done.ts';

function notedOutage() {
  const noted: string[] = [];
  const outage = {
    failed: (err: unknown) => void noted.push((err as Error).message),
    worked: () => void noted.push('worked'),
  };
  return { noted, outage };
}

describe('work that a start requires', () => {
  it('is tried again until it succeeds', async () => {
    const { noted, outage } = notedOutage();
    let left = 2;
    const work = async () => {
      if (left-- > 0) throw new Error('Postgres is away');
      return 'done';
    };
    expect(await untilDone(work, outage, new AbortController().signal, 1)).toBe('done');
    expect(noted).toEqual(['Postgres is away', 'Postgres is away', 'worked']);
  });

  it('is given up at the shutdown, whether it runs or waits for its next attempt', async () => {
    for (const stopsAt of ['run', 'wait']) {
      const { noted, outage } = notedOutage();
      const stopping = new AbortController();
      const stop = () => stopping.abort();
      const work = async () => {
        if (stopsAt === 'run') stop();
        else setTimeout(stop);
        throw new Error('Postgres is away');
      };
      expect(await untilDone(work, outage, stopping.signal, 60_000)).toBeUndefined();
      expect(noted).toEqual(stopsAt === 'run' ? [] : ['Postgres is away']);
    }
  });
});
