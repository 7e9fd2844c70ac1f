import type { IncomingMessage, ServerResponse } from 'node:http';
import * as framework from 'next';
import { PHASE_PRODUCTION_SERVER } from 'next/constants.js';
import * as config from 'next/dist/server/config.js';

export interface Screens {
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>;
  close(): Promise<void>;
}

interface Framework {
  prepare(): Promise<void>;
  getRequestHandler(): Screens['handle'];
  close(): Promise<void>;
}

/** A CommonJS module whose types describe an ES module. */
const create = framework.default as unknown as (options: {
  readonly dev: boolean;
  readonly dir: string;
  readonly quiet: boolean;
  readonly hostname: string;
  readonly port: number;
}) => Framework;

/** Reads the framework's configuration, and keeps it. Also a CommonJS module. */
const readSilently = (
  config.default as unknown as { default: (phase: string, dir: string) => Promise<unknown> }
).default;

export interface ScreensOptions {
  /** The folder in which they were built. */
  readonly dir: string;
  /**
   * Where the site listens. When an action redirects to another page, the framework fetches that
   * page from here.
   */
  readonly host: string;
  readonly port: number;
}

const ANY_HOST = new Set(['0.0.0.0', '::']);

export async function startScreens({ dir, host, port }: ScreensOptions): Promise<Screens> {
  const hostname = ANY_HOST.has(host) ? '127.0.0.1' : host;
  // When the framework reads its configuration itself, it prints how long that took, whatever
  // `quiet` says.
  await readSilently(PHASE_PRODUCTION_SERVER, dir);
  const app = create({ dev: false, dir, quiet: true, hostname, port });
  await app.prepare();
  return { handle: app.getRequestHandler(), close: () => app.close() };
}
