import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { missingAddresses, missingEntries, missingHashes } from './lock.mjs';

const lock = JSON.parse(readFileSync(join(import.meta.dirname, '../package-lock.json'), 'utf8'));

describe('package-lock.json', () => {
  it('holds the optional packages of every platform, so that npm ci accepts it (node infra/lock.mjs completes it)', () => {
    expect(Object.keys(missingEntries(lock.packages))).toEqual([]);
  });

  it('holds the address of each package, so that npm ci asks for nothing else (node infra/lock.mjs completes it)', () => {
    expect(Object.keys(missingAddresses(lock.packages))).toEqual([]);
  });

  it('holds the hash of each package, so that nobody can put another one under its address', () => {
    expect(missingHashes(lock.packages)).toEqual([]);
  });

  it('is missing a hash wherever npm fetches a package without one: not for links, nor for what is in another package', () => {
    const integrity = `sha512-${'a'.repeat(86)}==`;
    const packages = {
      '': {},
      'apps/a': { version: '0.1.0' },
      'node_modules/@house/a': { resolved: 'apps/a', link: true },
      'node_modules/good': { version: '1.0.0', integrity },
      'node_modules/good/node_modules/within': { version: '1.0.0', inBundle: true },
      'node_modules/none': { version: '1.0.0' },
      'apps/a/node_modules/none': { version: '1.0.0' },
      'node_modules/good/node_modules/weak': {
        version: '1.0.0',
        integrity: 'sha1-qUqP5cyxm6YcTAhz05Hph5gvu9M=',
      },
      'node_modules/mac': { version: '1.0.0', optional: true, os: ['darwin'], cpu: ['arm64'] },
    };
    expect(missingHashes(packages)).toEqual([
      ...['node_modules/none', 'apps/a/node_modules/none'],
      ...['node_modules/good/node_modules/weak', 'node_modules/mac'],
    ]);
  });

  it('calls nothing a part of another package that is not one', () => {
    const within = Object.entries<{ inBundle?: boolean }>(lock.packages).filter(
      ([, entry]) => entry.inBundle,
    );
    for (const [path] of within) {
      const carrier = lock.packages[path.slice(0, path.indexOf('/node_modules/'))];
      expect([path, carrier?.bundleDependencies]).toEqual([
        path,
        expect.arrayContaining([path.split('/node_modules/').at(-1)]),
      ]);
    }
  });

  it('gets the addresses of the public registry, even for a package that stands in for another', () => {
    const packages = {
      '': { version: '0.1.0' },
      'apps/a': { version: '0.1.0' },
      'node_modules/@house/a': { resolved: 'apps/a', link: true },
      'node_modules/b/node_modules/@c/d': { version: '1.2.3' },
      'node_modules/e': { name: '@f/g', version: '4.5.6' },
      'node_modules/h': { version: '1.0.0', resolved: 'https://elsewhere/h.tgz' },
    };
    expect(missingAddresses(packages)).toEqual({
      'node_modules/b/node_modules/@c/d': 'https://registry.npmjs.org/@c/d/-/d-1.2.3.tgz',
      'node_modules/e': 'https://registry.npmjs.org/@f/g/-/g-4.5.6.tgz',
    });
  });

  it('is completed from what a package asks for and what its name says', () => {
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
