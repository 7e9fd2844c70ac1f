import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { StackError } from '../errors.ts';
import { givenStores } from './given.ts';

let dir: string;
let file: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tidegate-given-'));
  file = join(dir, 'url');
  writeFileSync(file, 'redis://in-file\n');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

describe('stores that someone else runs', () => {
  it('are those of the options, or else of the environment, or else of the files that it names', () => {
    const env = { DATABASE_URL: 'postgresql://in-env', REDIS_URL_FILE: file };
    expect(givenStores({ databaseUrl: 'postgresql://wished' }, env)).toEqual({
      databaseUrl: 'postgresql://wished',
      redisUrl: 'redis://in-file',
    });
    expect(givenStores({}, env).databaseUrl).toBe('postgresql://in-env');
    expect(givenStores({}, { REDIS_URL: '' })).toEqual({ databaseUrl: undefined, redisUrl: undefined });
  });

  it('that are named twice end the start with a plain message', () => {
    const twice = () => givenStores({}, { REDIS_URL: 'redis://h', REDIS_URL_FILE: file });
    expect(twice).toThrow(StackError);
    expect(twice).toThrow('REDIS_URL_FILE: is set, and so is REDIS_URL');
  });
});
