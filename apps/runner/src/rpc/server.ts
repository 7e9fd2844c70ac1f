import { type RunnerHandlers, type ServeOptions, serveRunner } from '@tidegate/rpc';

export interface RpcServer {
  readonly port: number;
  /** Ends watches and waiting calls at once. Gateways keep serving from what they know. */
  close(): void;
}

/** A watcher that vanishes silently is noticed within 4 s. */
const OPTIONS = { 'grpc.keepalive_time_ms': 2_000, 'grpc.keepalive_timeout_ms': 2_000 };

/** Rejects when the port is taken. */
export async function startServer(
  options: Omit<ServeOptions<RunnerHandlers>, 'channelOptions'>,
): Promise<RpcServer> {
  const { server, port } = await serveRunner({ ...options, channelOptions: OPTIONS });
  return { port, close: () => server.forceShutdown() };
}
