import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { missingEntries } from './lock.mjs';

describe('package-lock.json', () => {
  it('holds the optional packages of every platform, so that npm ci takes it (node infra/lock.mjs completes it)', () => {
    const lock = JSON.parse(readFileSync(join(import.meta.dirname, '../package-lock.json'), 'utf8'));
    expect(Object.keys(missingEntries(lock.packages))).toEqual([]);
  });

  it('is completed from what a package asks for and its name says', () => {
    const packages = {
      '': {},
      'node_modules/a': {
        dev: true,
        optionalDependencies: { '@a/linux-x64-musl': '1.2.3', '@a/here': '1.0.0', '@a/windows-64': '1.2.3' },
      },
      'node_modules/a/node_modules/@a/here': { version: '1.0.0' },
    };
    expect(missingEntries(packages)).toEqual({
      'node_modules/@a/linux-x64-musl': {
        version: '1.2.3',
        os: ['linux'],
        cpu: ['x64'],
        libc: ['musl'],
        dev: true,
        optional: true,
      },
      'node_modules/@a/windows-64': {
        version: '1.2.3',
        os: ['win32'],
        cpu: ['x64'],
        dev: true,
        optional: true,
      },
    });
  });
});
