import { describe, expect, it } from '@jest/globals';
import { clientAddress, networkOf } from './client-address.ts';

const from = (remoteAddress: string | undefined, forwarded?: string) => ({
  socket: { remoteAddress },
  headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
});

describe("the client's address", () => {
  it.each([
    [0, '10.0.0.1', '192.0.2.1'],
    [1, '10.0.0.1', '10.0.0.1'],
    [1, '6.6.6.6, 10.0.0.1', '10.0.0.1'],
    [2, 'forged, 10.0.0.1, 10.0.0.2', '10.0.0.1'],
    [3, '10.0.0.1, 10.0.0.2', '192.0.2.1'],
    [1, undefined, '192.0.2.1'],
    [1, '', '192.0.2.1'],
    [1, '7', '192.0.2.1'],
    [1, '10.0.0.1, unknown', '192.0.2.1'],
    [1, '10.0.0.1:4711', '10.0.0.1'],
    [1, '[2001:db8::1]', '2001:db8::'],
    [1, '[2001:db8::1]:80', '2001:db8::'],
  ])(
    'behind %i proxies that wrote "%s" is %s: what clients write is ignored',
    (proxies, forwarded, expected) => {
      expect(clientAddress(from('192.0.2.1', forwarded), proxies)).toBe(expected);
    },
  );

  it.each([
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::'],
    ['2001:0DB8:1:2::9', '2001:db8:1:2::'],
    ['2001:db8:1:3::9', '2001:db8:1:3::'],
    ['::1', '::'],
    ['fe80::1%eth0', 'fe80::'],
    ['1:2:3:4:5:6:7::', '1:2:3:4::'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['::ffff:cb00:7107', '203.0.113.7'],
    ['unknown', 'unknown'],
    [undefined, 'unknown'],
  ])('is counted as one however it is written, IPv6 by its /64: %s as %s', (peer, expected) => {
    expect(clientAddress(from(peer), 0)).toBe(expected);
  });

  it.each([
    ['2001:db8:1:2::', '2001:db8:1::/48'],
    ['2001:db8:1:ffff::', '2001:db8:1::/48'],
    ['2001:db8:2:2::', '2001:db8:2::/48'],
    ['192.0.2.1', '192.0.2.1'],
    ['unknown', 'unknown'],
  ])('belongs to a network, an IPv6 one to its /48: %s to %s', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });
});
