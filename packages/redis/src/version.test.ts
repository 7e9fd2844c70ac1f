import { expect, it } from '@jest/globals';
import { redisTooOld } from './version.ts';

const info = (version: string) => `# Server\r\nredis_version:${version}\r\nredis_mode:standalone\r\n`;

it.each(['6.2.0', '6.10.1', '7.0.15', '8.0-rc1', '10.0.0'])('Redis %s is new enough', (version) =>
  expect(redisTooOld(info(version))).toBeNull(),
);

it.each(['6.0.16', '5.0.14', '6.1.240'])('Redis %s is too old', (version) =>
  expect(redisTooOld(info(version))).toBe(`Redis ${version} is too old: Tidegate needs version 6.2 or newer`),
);

it('a server that does not report its version is not called too old', () => {
  expect(redisTooOld('')).toBeNull();
  expect(redisTooOld('# Server\r\nvalkey_version:9.1.2\r\n')).toBeNull();
});
