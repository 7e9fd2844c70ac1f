import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/**
 * True only for the address of a single host on the public internet. An IPv4 address embedded in an
 * IPv6 one (mapped, or by NAT64) is judged as IPv4. 6to4 and Teredo addresses are never public,
 * because they tunnel to an IPv4 address.
 */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = unwrapped(ipaddr.parse(text));
  if (address.range() !== 'unicast' || address.toString() === AZURE_PLATFORM) return false;
  return !isIpv6(address) || address.match(GLOBAL_UNICAST);
}

/** Returns a filter that allows public addresses and those within the given networks (CIDR). */
export function createAddressFilter(networks: readonly string[]): (text: string) => boolean {
  const allowed = networks.map((network) => ipaddr.parseCIDR(network));
  return (text) => {
    if (isPublicAddress(text)) return true;
    if (!ipaddr.isValid(text)) return false;
    const address = unwrapped(ipaddr.parse(text));
    return allowed.some(([base, bits]) => base.kind() === address.kind() && address.match(base, bits));
  };
}

/** In a public range, but answered by the host of every Azure virtual machine. */
const AZURE_PLATFORM = '168.63.129.16';

/**
 * All IPv6 space that is assigned to networks. `range()` also calls the unassigned rest unicast.
 */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

function unwrapped(address: Address): Address {
  if (!isIpv6(address)) return address;
  if (address.isIPv4MappedAddress()) return address.toIPv4Address();
  return address.match(NAT64) ? new ipaddr.IPv4(address.toByteArray().slice(12)) : address;
}

const isIpv6 = (address: Address): address is ipaddr.IPv6 => address.kind() === 'ipv6';
