import { describe, expect, it } from '@jest/globals';
import type { z } from 'zod';
import {
  address,
  addresses,
  count,
  databaseUrl,
  durationMs,
  flag,
  poolAddresses,
  port,
  redisPrefix,
  secretKey,
  serviceFields,
} from './fields.ts';

const KEY = Buffer.alloc(32, 7);
const { LOG_LEVEL: level, SHUTDOWN_DELAY_MS: shutdownDelayMs } = serviceFields(1);

describe('a field', () => {
  it.each<[string, z.ZodType, string | undefined, unknown]>([
    ['port', port, '0', 0],
    ['port', port, '65535', 65_535],
    ['count', count, '10000000000', 1e10],
    ['time', durationMs, '2147483647', 2 ** 31 - 1],
    ['shutdown delay', shutdownDelayMs, undefined, 0],
    ['flag', flag, 'true', true],
    ['flag', flag, undefined, false],
    ['address', address, '[::1]:7100', '[::1]:7100'],
    ['address', address, 'dns:///limiter:7100', 'dns:///limiter:7100'],
    ['address', address, 'ipv4:127.0.0.1:1,127.0.0.1:2', 'ipv4:127.0.0.1:1,127.0.0.1:2'],
    ['list of addresses', addresses, 'a:1, [::1]:2', ['a:1', '[::1]:2']],
    ['pool', poolAddresses, 'runner:7200', [{ pool: 'local', address: 'runner:7200' }]],
    [
      ...(['list of pools', poolAddresses, 'ipv4:a:1,b:2, gpu0=dns:///gpu:3,gpu-1=[::1]:4'] as const),
      [
        { pool: 'local', address: 'ipv4:a:1,b:2' },
        { pool: 'gpu0', address: 'dns:///gpu:3' },
        { pool: 'gpu-1', address: '[::1]:4' },
      ],
    ],
    ['database URL', databaseUrl, 'postgres://h/db', 'postgres://h/db'],
    ['prefix', redisPrefix, undefined, 'tg:'],
    ['secret key', secretKey, KEY.toString('base64'), KEY],
    ['log level', level, undefined, 'info'],
  ])('with a valid %s is read: %#', (_what, field, text, value) => {
    expect(field.parse(text)).toEqual(value);
  });

  it.each<[string, z.ZodType, string, string]>([
    ['port', port, '65536', 'must be a whole number from 0 to 65535'],
    ['port', port, '80 ', 'must be a whole number from 0 to 65535'],
    ['port', port, '-1', 'must be a whole number from 0 to 65535'],
    ['count', count, '0', 'must be a whole number of 1 or more'],
    ['count', count, '9007199254740993', 'must be a whole number of 1 or more'],
    ['time', durationMs, '1.5', 'must be a whole number from 1 to 2147483647'],
    ['shutdown delay', shutdownDelayMs, '3600001', 'must be a whole number from 0 to 3600000'],
    ['flag', flag, 'yes', 'must be true or false'],
    ['address', address, 'limiter', 'must be host:port'],
    ['address', address, 'http://limiter:7100', 'must be host:port'],
    ['address', address, '::1:7100', 'must be host:port'],
    ['address', address, 'limiter:65536', 'must be host:port'],
    ['list of addresses', addresses, 'a:1,', 'must be host:port, or several separated by commas'],
    [
      'list of pools',
      poolAddresses,
      'gpu0=a:1,gpu0=b:2',
      'must be host:port, or pool=host:port of each pool',
    ],
    ['list of pools', poolAddresses, 'GPU=a:1', 'must be host:port, or pool=host:port of each pool'],
    ['list of pools', poolAddresses, 'a:1,gpu0=', 'must be host:port, or pool=host:port of each pool'],
    ['list of pools', poolAddresses, 'a:1,b:2', 'must be host:port, or pool=host:port of each pool'],
    ['database URL', databaseUrl, 'mysql://h/db', 'must be a URL that starts with postgresql://'],
    ['prefix', redisPrefix, '{tag}', 'must be 1 to 32 letters, digits, ":", "_" and "-"'],
    ['secret key', secretKey, 'c2hvcnQ=', 'must be 32 bytes in base64'],
    ['log level', level, 'loud', 'must be one of'],
  ])('with an invalid %s is refused, saying what it must be: %#', (_what, field, text, message) => {
    const issues = field.safeParse(text).error?.issues ?? [];
    expect(issues).toHaveLength(1);
    expect(issues[0]?.message).toContain(message);
  });
});
