import { describe, expect, it } from '@jest/globals';
import { testClock } from '@tidegate/testing';
import { logFailures } from './log-failures.ts';

describe('failures of calls to a service', () => {
  const refused = Object.assign(new Error('7 PERMISSION_DENIED: no'), { code: 7, details: 'no token' });

  function start() {
    const clock = testClock();
    const logged: object[] = [];
    const port = {
      month: async (orgId: string) => (orgId === 'bad' ? Promise.reject(refused) : 1),
      close: () => 'closed',
    };
    const log = { warn: (fields: object) => void logged.push(fields) };
    return { clock, logged, port: logFailures(port, { service: 'limiter', log, now: clock.now }) };
  }

  it('are logged with their cause, and reach the caller unchanged', async () => {
    const { logged, port } = start();
    expect([await port.month('good'), port.close()]).toEqual([1, 'closed']);
    expect(logged).toEqual([]);
    await expect(port.month('bad')).rejects.toBe(refused);
    expect(logged).toEqual([{ service: 'limiter', call: 'month', code: 7, reason: 'no token' }]);
  });

  it('are logged once a minute, however often they happen', async () => {
    const { clock, logged, port } = start();
    const fail = () => expect(port.month('bad')).rejects.toBe(refused);
    for (const waitMs of [0, 59_999, 1, 10]) {
      clock.advance(waitMs);
      await fail();
    }
    expect(logged).toHaveLength(2);
  });
});
