import { freePort } from '@tidegate/embedded';
import { StackError } from './errors.ts';
import { claimPort } from './ports.ts';

export const HOST = '127.0.0.1';

export type ServiceName = 'runner' | 'limiter' | 'metering' | 'gateway' | 'console';

/** A unique name in the stack: gateway, gateway-2, ... */
export type InstanceName = ServiceName | `${ServiceName}-${number}`;

/** One process of a service, and its ports. */
export interface Instance {
  readonly service: ServiceName;
  readonly name: InstanceName;
  readonly port: number;
  readonly adminPort: number;
}

interface RequestedPorts {
  readonly gateway?: number;
  readonly console?: number;
}

/**
 * Assigns ports to every instance.
 * @throws StackError when a requested port is taken or given twice
 */
export async function planInstances(
  services: readonly { readonly name: ServiceName }[],
  scale: Readonly<Partial<Record<ServiceName, number>>>,
  ports: RequestedPorts,
): Promise<Instance[]> {
  const planned = requestedPorts(services, scale, ports);
  const instances: Instance[] = [];
  for (const { service, name, requested } of planned) {
    const port =
      requested === undefined
        ? await freePort()
        : await claimPort(requested, `the ${service}`, `--${service}-port`);
    instances.push({ service, name, port, adminPort: await freePort() });
  }
  return instances;
}

/** Every instance with the port it must have, if any. Does not check whether the ports are free. */
function requestedPorts(
  services: readonly { readonly name: ServiceName }[],
  scale: Readonly<Partial<Record<ServiceName, number>>>,
  ports: RequestedPorts,
) {
  const owners = new Map<number, InstanceName>();
  return services.flatMap(({ name: service }) =>
    Array.from({ length: scale[service] ?? 1 }, (_, i) => {
      const name: InstanceName = i === 0 ? service : `${service}-${i + 1}`;
      const first = service === 'gateway' || service === 'console' ? ports[service] : undefined;
      if (first === undefined) return { service, name, requested: undefined };
      const requested = first + i;
      const owner = owners.get(requested);
      if (owner) throw new StackError(`${owner} and ${name} cannot both listen on port ${requested}.`);
      owners.set(requested, name);
      return { service, name, requested };
    }),
  );
}

export const gatewayUrl = ({ port }: Instance): string => `http://${HOST}:${port}/v1`;
export const adminAddress = ({ adminPort }: Instance): string => `${HOST}:${adminPort}`;
export const adminUrl = (instance: Instance, path: string): string =>
  `http://${adminAddress(instance)}/${path}`;
export const healthUrl = (instance: Instance): string => adminUrl(instance, 'healthz');
export const metricsUrl = (instance: Instance): string => adminUrl(instance, 'metrics');
