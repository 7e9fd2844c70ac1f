import type { Server } from '@grpc/grpc-js';
import { type LimiterHandlers, type ServeOptions, serveLimiter } from '@tidegate/rpc';
import { within } from '@tidegate/runtime';

const SHUTDOWN_MS = 1_000;

/**
 * Less frequent than the clients' keep-alive. It only clears the sessions of machines that are
 * gone. Leases do not depend on it.
 */
const OPTIONS = {
  'grpc.keepalive_time_ms': 30_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.max_receive_message_length': 64 * 1024 * 1024,
} as const;

export interface GrpcServer {
  readonly port: number;
  /** Gives calls a moment to end, then breaks them off. */
  close(): Promise<void>;
}

/** Rejects if the port is taken. */
export async function startServer(
  options: Omit<ServeOptions<LimiterHandlers>, 'channelOptions'>,
): Promise<GrpcServer> {
  const { server, port } = await serveLimiter({ ...options, channelOptions: OPTIONS });
  return { port, close: () => shutDown(server) };
}

async function shutDown(server: Server): Promise<void> {
  const ended = new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
  await within(ended, SHUTDOWN_MS, undefined);
  server.forceShutdown();
}
