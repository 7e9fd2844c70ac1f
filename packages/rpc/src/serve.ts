import {
  type ChannelOptions,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  setLogger,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import type { Trust } from '@tidegate/runtime';
import { limiterService, runnerService } from './definitions.ts';
import type { LimiterHandlers, RunnerHandlers } from './generated/index.ts';
import { serverTls } from './trust/certificates.ts';
import { guardCalls } from './trust/guard.ts';
import { logRefusals, type WarningLog } from './trust/refusal-log.ts';

// The output of a service is JSON, and its own code reports what fails.
// biome-ignore lint/suspicious/noConsole: prints only with GRPC_VERBOSITY=DEBUG
setLogger({ debug: console.error });

export interface ServeOptions<H> {
  readonly host: string;
  /** 0 means any free port. */
  readonly port: number;
  readonly handlers: H;
  readonly trust: Trust;
  readonly log: WarningLog;
  readonly channelOptions: ChannelOptions;
}

export interface Serving {
  readonly server: Server;
  readonly port: number;
}

/** Serves the calls of `limiter.proto`. Rejects if the port is taken. */
export const serveLimiter = (options: ServeOptions<LimiterHandlers>): Promise<Serving> =>
  serve(limiterService, { ...options, handlers: { ...options.handlers } });

/** Serves the calls of `runner.proto`. Rejects if the port is taken. */
export const serveRunner = (options: ServeOptions<RunnerHandlers>): Promise<Serving> =>
  serve(runnerService, { ...options, handlers: { ...options.handlers } });

async function serve(
  service: ServiceDefinition,
  options: ServeOptions<UntypedServiceImplementation>,
): Promise<Serving> {
  const { host, trust, handlers, channelOptions } = options;
  const guard = trust.tokens.length > 0 ? [guardCalls(trust.tokens, logRefusals(options.log))] : [];
  const server = new Server({ ...channelOptions, interceptors: guard });
  server.addService(service, handlers);
  const credentials = trust.tls ? serverTls(trust.tls) : ServerCredentials.createInsecure();
  const address = `${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${options.port}`;
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(address, credentials, (error, bound) => (error ? reject(error) : resolve(bound)));
  });
  return { server, port };
}
