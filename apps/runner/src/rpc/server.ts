import { Server, ServerCredentials } from '@grpc/grpc-js';
import { type RunnerHandlers, runnerService } from '@tidegate/rpc';

export interface RpcServer {
  readonly port: number;
  /** Ends watches and waiting calls at once. Gateways keep serving from what they know. */
  close(): void;
}

/** A watcher that vanishes silently is noticed within 4 s. */
const OPTIONS = { 'grpc.keepalive_time_ms': 2_000, 'grpc.keepalive_timeout_ms': 2_000 };

/** Rejects when the port is taken. */
export async function startServer(host: string, port: number, handlers: RunnerHandlers): Promise<RpcServer> {
  const server = new Server(OPTIONS);
  server.addService(runnerService, handlers);
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`${host}:${port}`, ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(port),
    );
  });
  return { port: bound, close: () => server.forceShutdown() };
}
