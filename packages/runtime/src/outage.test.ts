import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { createLogger } from './logger.ts';
import { createOutage } from './outage.ts';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

it('logs once that something fails and once that it works again, however often it is tried', () => {
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => lines.push(JSON.parse(line)) };
  const log = createLogger({ service: 'test', level: 'info', destination });
  const outage = createOutage(log, 'the lease could not be renewed');
  outage.worked();
  for (let i = 0; i < 2; i++) {
    outage.failed(new Error('away'), { pool: 'local' });
    jest.advanceTimersByTime(2_400);
    outage.failed(new Error('still away'));
    outage.worked();
    outage.worked();
  }
  const away = {
    level: 'warn',
    msg: 'the lease could not be renewed: trying again',
    pool: 'local',
    err: { message: 'away' },
  };
  const over = { level: 'info', msg: 'resolved: the lease could not be renewed', seconds: 2 };
  expect(lines).toMatchObject([away, over, away, over]);
});
