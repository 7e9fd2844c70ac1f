import type { V1Endpoint, V1EndpointSlice } from '@kubernetes/client-node';
import { MAX_REPLICAS } from '@tidegate/contracts/driver-settings';
import type { ReplicaAddress } from '../driver.ts';

export interface FoundReplicas {
  readonly replicas: readonly ReplicaAddress[];
  /** Why ready endpoints cannot be used, as a sentence. Empty: they can. */
  readonly problem: string;
}

/**
 * The ready endpoints of a Service, at most `MAX_REPLICAS`. Where pods have addresses of both
 * families, those of IPv4.
 *
 * @param port a port's name or number; undefined: the only port
 */
export function replicasOf(slices: readonly V1EndpointSlice[], port: string | undefined): FoundReplicas {
  const [four, six] = ['IPv4', 'IPv6'].map((family) =>
    slices.filter(({ addressType }) => addressType === family),
  ) as [V1EndpointSlice[], V1EndpointSlice[]];
  const used = four.some((slice) => readyOf(slice).length > 0) ? four : six;
  const found = new Map<string, ReplicaAddress>();
  let problem = '';
  for (const slice of used) {
    const ready = readyOf(slice);
    if (ready.length === 0) continue;
    const number = portOf(slice, port);
    if (typeof number === 'string') problem = number;
    else
      for (const { addresses } of ready) {
        const [address = ''] = addresses;
        const id = `${address.includes(':') ? `[${address}]` : address}:${number}`;
        found.set(id, { id, baseUrl: `http://${id}/v1` });
      }
  }
  const replicas = [...found.values()].sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, MAX_REPLICAS);
  return { replicas, problem: replicas.length > 0 ? '' : problem };
}

/** An endpoint that does not say whether it is ready counts as ready. */
const readyOf = ({ endpoints }: V1EndpointSlice): V1Endpoint[] =>
  (endpoints ?? []).filter(
    ({ addresses, conditions }) =>
      addresses.length > 0 && conditions?.ready !== false && conditions?.terminating !== true,
  );

/** The number of the port, or a sentence that says why there is none. */
function portOf({ ports }: V1EndpointSlice, wanted: string | undefined): number | string {
  const all = (ports ?? []).filter(({ port, protocol }) => port && (protocol ?? 'TCP') === 'TCP');
  const names = all.map(({ name, port }) => name || port).join(', ');
  if (wanted === undefined) {
    const [only] = all;
    if (all.length === 1 && only?.port) return only.port;
    return all.length === 0
      ? 'Its Service has no TCP port.'
      : `Its Service has several ports (${names}), and none is chosen.`;
  }
  const port = all.find((candidate) => candidate.name === wanted || String(candidate.port) === wanted)?.port;
  return port ?? `Its Service has no port ${wanted}; it has ${names || 'no TCP port'}.`;
}
