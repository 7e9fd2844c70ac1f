import { expect, it } from '@jest/globals';
import { plainLog } from './log.ts';

const record = { level: 'error', time: '2026-11-22T05:00:00.000Z', service: 'limiter', pid: 7 };

it.each([
  [
    JSON.stringify({ ...record, msg: 'no Redis', err: { message: 'read only', stack: 'at x' } }),
    'error: no Redis: read only',
  ],
  [JSON.stringify({ ...record, msg: 'read only', error: { message: 'read only' } }), 'error: read only'],
  [JSON.stringify({ ...record, level: 'info', msg: 'listening' }), 'info: listening'],
  ['the reason why', 'the reason why'],
  ['{"half": ', '{"half": '],
  ['null', 'null'],
  ['{"a":1}\n7', '{"a":1}\n7'],
])('a log is shown without its wrapping: %s', (text, plain) => expect(plainLog(text)).toBe(plain));
