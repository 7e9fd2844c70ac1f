import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/**
 * True only for an address of a single host on the public internet. An IPv4 address carried in an IPv6 one (mapped, or by
 * NAT64) is judged as such. 6to4 and Teredo, which lead to an IPv4 address through a tunnel, are never public.
 */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = unwrapped(ipaddr.parse(text));
  if (address.range() !== 'unicast' || address.toString() === AZURE_PLATFORM) return false;
  return !isIpv6(address) || address.match(GLOBAL_UNICAST);
}

/** Judges addresses: public ones pass, and those within one of the networks (CIDR). */
export function createAddressJudge(networks: readonly string[]): (text: string) => boolean {
  const allowed = networks.map((network) => ipaddr.parseCIDR(network));
  return (text) => {
    if (isPublicAddress(text)) return true;
    if (!ipaddr.isValid(text)) return false;
    const address = unwrapped(ipaddr.parse(text));
    return allowed.some(([base, bits]) => base.kind() === address.kind() && address.match(base, bits));
  };
}

/** Publicly numbered, yet answered by the host below every Azure machine. */
const AZURE_PLATFORM = '168.63.129.16';

/** All of IPv6 that is given out to networks; `range()` calls the unassigned rest unicast, too. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

function unwrapped(address: Address): Address {
  if (!isIpv6(address)) return address;
  if (address.isIPv4MappedAddress()) return address.toIPv4Address();
  return address.match(NAT64) ? new ipaddr.IPv4(address.toByteArray().slice(12)) : address;
}

const isIpv6 = (address: Address): address is ipaddr.IPv6 => address.kind() === 'ipv6';
