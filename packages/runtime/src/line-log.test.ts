import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { LogLevel } from './levels.ts';
import { createLineLog, type LineFields } from './line-log.ts';
import { createLogger } from './logger.ts';

function written(level: LogLevel, fields: LineFields): string[] {
  const lines: string[] = [];
  const destination = { write: (line: string) => lines.push(line) };
  createLineLog({ service: 'test', level, destination, nowMs: () => 0 })(fields, 'request');
  return lines;
}

describe('the line log', () => {
  it('writes what the logger would', () => {
    const fields = { requestId: 'req_1', status: 200, streamed: false, ms: 1.5 };
    const lines: string[] = [];
    createLogger({
      service: 'test',
      level: 'info',
      destination: { write: (line) => lines.push(line) },
    }).info(fields, 'request');
    const [expected] = lines.map((line) => JSON.parse(line));
    const [line = ''] = written('info', fields);
    expect(JSON.parse(line)).toEqual({ ...expected, time: '1970-01-01T00:00:00.000Z' });
  });

  it('leaves out what has no value', () => {
    const [line = ''] = written('debug', { code: null, cause: undefined, orgId: '', ms: 0 });
    expect(Object.keys(JSON.parse(line))).toEqual(['level', 'time', 'service', 'pid', 'ms', 'msg']);
  });

  it.each(['warn', 'error', 'fatal', 'silent'] as const)('writes nothing at level %s', (level) => {
    expect(written(level, { ms: 1 })).toEqual([]);
  });

  it('writes one line of valid JSON whatever a text holds', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const [line = '', ...more] = written('info', { text });
        expect(more).toEqual([]);
        expect(line.indexOf('\n')).toBe(line.length - 1);
        const record = JSON.parse(line);
        if (text !== '' && !/ti_|Bearer|Basic|:\/\//i.test(text)) expect(record.text).toBe(text);
      }),
    );
  });

  it.each(['Bearer not-for-any-log', `ti_${'notForAnyLog'.repeat(4)}`])('redacts %s', (text) => {
    const [line] = written('info', { text });
    expect(line).toContain('[redacted]');
    expect(line).not.toMatch(/not-?for-?any-?log/i);
  });
});
