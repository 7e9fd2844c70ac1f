import { type RunnerHandlers, type ServeOptions, serveRunner } from '@tidegate/rpc';

export interface RpcServer {
  readonly port: number;
  /** Ends watches and waiting calls immediately. Gateways keep serving from what they know. */
  close(): void;
}

/** A watcher that vanishes silently is noticed within this time plus `pingTimeoutMs`. */
const PING_MS = 2_000;

export interface RpcServerOptions extends Omit<ServeOptions<RunnerHandlers>, 'channelOptions'> {
  readonly pingTimeoutMs: number;
}

/** Rejects when the port is taken. */
export async function startServer({ pingTimeoutMs, ...options }: RpcServerOptions): Promise<RpcServer> {
  const channelOptions = {
    'grpc.keepalive_time_ms': PING_MS,
    'grpc.keepalive_timeout_ms': pingTimeoutMs,
  };
  const { server, port } = await serveRunner({ ...options, channelOptions });
  return { port, close: () => server.forceShutdown() };
}
