import { Server, ServerCredentials } from '@grpc/grpc-js';
import type { LimiterHandlers } from '@tidegate/rpc';
import { limiterService } from '@tidegate/rpc';

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

/** Listens on the private network, without TLS. Rejects if the port is taken. */
export async function startServer(options: {
  readonly host: string;
  readonly port: number;
  readonly handlers: LimiterHandlers;
}): Promise<GrpcServer> {
  const server = new Server(OPTIONS);
  server.addService(limiterService, { ...options.handlers });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`${options.host}:${options.port}`, ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  return { port, close: () => shutDown(server) };
}

async function shutDown(server: Server): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  await new Promise<void>((resolve) => {
    server.tryShutdown(() => resolve());
    timer = setTimeout(resolve, SHUTDOWN_MS);
  });
  clearTimeout(timer);
  server.forceShutdown();
}
