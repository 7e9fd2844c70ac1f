import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createLogger } from './logger.ts';

const KEY = `ti_${'aB3'.repeat(18)}`;
const SECRET = 'not-for-any-log';

function logged(write: (logger: ReturnType<typeof createLogger>) => void): string {
  const lines: string[] = [];
  write(
    createLogger({ service: 'test', level: 'debug', destination: { write: (line) => lines.push(line) } }),
  );
  return lines.join('');
}

describe('the logger', () => {
  it('writes one JSON object a line, with service, level, time and message', () => {
    const record = JSON.parse(logged((logger) => logger.info({ port: 1 }, 'listening')));
    expect(record).toMatchObject({ service: 'test', level: 'info', port: 1, msg: 'listening' });
    expect(new Date(record.time).getTime()).not.toBeNaN();
  });

  it('explains an error in plain words if there are some for it, and logs any other as it is', () => {
    const lines: string[] = [];
    const logger = createLogger({
      service: 'test',
      level: 'info',
      destination: { write: (line) => lines.push(line) },
      explain: (error) => (String(error).includes('ECONNREFUSED') ? 'The store is unavailable.' : null),
    });
    logger.warn({ err: new Error('connect ECONNREFUSED') }, 'one');
    logger.warn({ err: new Error('boom') }, 'other');
    const [unavailable, other] = lines.map((line) => JSON.parse(line).err);
    expect(unavailable).toEqual({ type: 'Error', message: 'The store is unavailable.' });
    expect(other).toMatchObject({ message: 'boom', stack: expect.stringContaining('boom') });
  });

  it('carries the request id of a child', () => {
    const text = logged((logger) => logger.child({ requestId: 'req_1' }).warn('slow'));
    expect(JSON.parse(text)).toMatchObject({ requestId: 'req_1', level: 'warn' });
  });

  it('never writes a key value, wherever in a line it stands', () => {
    fc.assert(
      fc.property(fc.string(), fc.string({ maxLength: 20 }), (before, after) => {
        const text = logged((logger) => {
          logger.info(
            { deep: [{ note: before + KEY + after }], [`${before} ${KEY}`]: 1 },
            `called with ${KEY}`,
          );
          logger.child({ caller: `${before} ${KEY}` }).error({ err: new Error(`bad ${KEY}`) });
        });
        expect(text).not.toContain(KEY);
        for (const line of text.trimEnd().split('\n')) expect(() => JSON.parse(line)).not.toThrow();
      }),
    );
  });

  it('never writes a mistyped or cut-off key value either, only the first characters that lists show', () => {
    expect(logged((logger) => logger.info(`key "${KEY.slice(0, 20)}"`))).not.toContain(KEY.slice(0, 12));
    expect(logged((logger) => logger.info({ prefix: KEY.slice(0, 9) }))).toContain(KEY.slice(0, 9));
  });

  it('leaves alone words that only look like a key', () => {
    expect(logged((logger) => logger.info('multi_tenancymode on'))).toContain('multi_tenancymode on');
  });

  it.each([
    ['an authorization header', { headers: { authorization: `Bearer ${SECRET}` } }],
    ['an Authorization header in a raw list', { rawHeaders: ['Authorization', `Bearer ${SECRET}`] }],
    ['basic credentials', { note: `Basic ${SECRET}` }],
    ['a cookie', { headers: { cookie: SECRET } }],
    ['a password', { user: { password: `quote" ${SECRET}` } }],
    ['a service token', { trust: { tokens: [{ service: 'gateway', token: SECRET }] } }],
    ['service tokens', { env: { SERVICE_TOKENS: `gateway:${SECRET}` } }],
    ['an upstream key', { model: { upstreamKey: SECRET } }],
    ['a secret key', { SECRET_KEY: SECRET }],
    ['a password in a URL', { url: `redis://tidegate:${SECRET}@127.0.0.1:6379/0` }],
  ])('never writes %s', (_what, record) => {
    const text = logged((logger) => logger.info(record, 'seen'));
    expect(text).not.toContain(SECRET);
    expect(text).toContain('[redacted]');
    expect(() => JSON.parse(text)).not.toThrow();
  });

  it('writes what an error is and where it happened, but no member that may hold content', () => {
    const cause = Object.assign(new TypeError('refused'), { code: 'ECONNREFUSED', body: SECRET });
    const err = Object.assign(new Error('call failed', { cause }), { request: { messages: [SECRET] } });
    const text = logged((logger) => logger.error({ err }, 'failed'));
    expect(JSON.parse(text).err).toMatchObject({
      type: 'Error',
      message: 'call failed',
      stack: expect.stringContaining('logger.test'),
      cause: { type: 'TypeError', code: 'ECONNREFUSED' },
    });
    expect(text).not.toContain(SECRET);
  });

  it('cuts off a chain of causes that has no end', () => {
    const err = new Error('round');
    err.cause = err;
    expect(() => JSON.parse(logged((logger) => logger.error({ err })))).not.toThrow();
  });

  it('writes nothing below its level', () => {
    expect(logged((logger) => logger.trace('detail'))).toBe('');
  });
});
