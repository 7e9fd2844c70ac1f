import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createAddressFilter, isPublicAddress } from './public-address.ts';

describe('isPublicAddress', () => {
  it.each([
    '8.8.8.8',
    '1.1.1.1',
    '172.32.0.1',
    '100.128.0.1',
    '2001:4860:4860::8888',
    '2606:4700::1111',
    '::ffff:8.8.8.8',
    '::ffff:808:808',
    '64:ff9b::808:808',
  ])('takes %s', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  it.each([
    '0.0.0.0',
    '0.1.2.3',
    '10.0.0.1',
    '100.64.0.1',
    '100.100.100.200',
    '127.0.0.1',
    '127.255.255.254',
    '168.63.129.16',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.8',
    '192.0.2.1',
    '192.88.99.1',
    '192.168.0.1',
    '198.18.0.1',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::7f00:1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:10.0.0.1',
    '::ffff:0:7f00:1',
    '::ffff:168.63.129.16',
    '64:ff9b::7f00:1',
    '64:ff9b::169.254.169.254',
    '64:ff9b:1::808:808',
    '64:ff9b:1::1',
    '100::1',
    '100:0:0:1::1',
    '2001::7f00:1',
    '2001:0:808:808::1',
    '2001:2::1',
    '2001:20::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '2002:808:808::1',
    '3fff::1',
    '4000::1',
    '5f00::1',
    'fc00::1',
    'fd00:ec2::254',
    'fe80::1',
    'fe80::1%eth0',
    'fec0::1',
    'ff02::1',
    '',
    'localhost',
    '8.8.8.8.8',
    '8.8.8.8/8',
    ' 8.8.8.8',
    '[::1]',
    '127.1',
    '0x7f.1',
    '2130706433',
    '0177.0.0.1',
  ])('refuses %s', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  it('treats an IPv4 address the same, plain, mapped or behind NAT64', () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        expect(isPublicAddress(`::ffff:${address}`)).toBe(isPublicAddress(address));
        expect(isPublicAddress(`64:ff9b::${address}`)).toBe(isPublicAddress(address));
      }),
    );
  });
});

describe('createAddressFilter', () => {
  const judge = createAddressFilter(['10.20.0.0/16', '127.0.0.2/32', 'fd00:1::/32']);

  it.each([
    '8.8.8.8',
    '2606:4700::1111',
    '10.20.0.1',
    '10.20.255.255',
    '::ffff:10.20.0.1',
    '127.0.0.2',
    'fd00:1::2',
  ])('takes %s, public or within a network', (address) => expect(judge(address)).toBe(true));

  it.each([
    '10.21.0.1',
    '127.0.0.1',
    '127.0.0.3',
    '::1',
    'fd00:2::1',
    '2002:a14:1::',
    '10.20.0.1/16',
    'localhost',
    '',
  ])('refuses %s', (address) => expect(judge(address)).toBe(false));

  it('agrees with isPublicAddress if there is no network', () => {
    const bare = createAddressFilter([]);
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (address) => {
        expect(bare(address)).toBe(isPublicAddress(address));
      }),
    );
  });
});
