import type { ServerResponse } from 'node:http';

// biome-ignore lint/suspicious/noExplicitAny: objects of Kubernetes, as they are sent
export type Json = any;

const KINDS: Record<string, string> = { deployments: 'Deployment', statefulsets: 'StatefulSet' };

interface Workload {
  readonly name: string;
  readonly namespace: string;
  readonly plural: string;
  readonly replicas: number;
  readonly observed: number;
  readonly version: number;
}

export const scaleOf = ({ name, namespace, plural, replicas, observed, version }: Workload): Json => ({
  kind: 'Scale',
  apiVersion: 'autoscaling/v1',
  metadata: { name, namespace, resourceVersion: String(version) },
  spec: replicas > 0 ? { replicas } : {},
  status: { replicas: observed, selector: `app=${name},of=${KINDS[plural]}` },
});

/** The only slice of a Service, from its addresses and whether each is ready. */
export function sliceOf(
  service: string,
  version: number,
  port: number,
  ready: Record<string, boolean>,
): Json {
  const addresses = Object.entries(ready);
  return {
    metadata: {
      name: `${service}-x1`,
      labels: { 'kubernetes.io/service-name': service },
      resourceVersion: String(version),
    },
    addressType: 'IPv4',
    // The controller leaves both null for a Service without pods.
    ports: addresses.length === 0 ? null : [{ name: 'http', port, protocol: 'TCP' }],
    endpoints:
      addresses.length === 0
        ? null
        : addresses.map(([address, isReady]) => ({
            addresses: [address],
            conditions: { ready: isReady, serving: isReady, terminating: false },
          })),
  };
}

export const send = (response: ServerResponse, { type, object }: { type: string; object: Json }): void => {
  response.write(`${JSON.stringify({ type, object })}\n`);
};

export function answer(response: ServerResponse, body: Json, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

const REASONS: Readonly<Record<number, string>> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Expired',
};

export const status = (code: number, message: string): Json => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message,
  reason: REASONS[code] ?? 'InternalError',
  code,
});

export const refuse = (response: ServerResponse, code: number, message: string): void =>
  answer(response, status(code, message), code);
