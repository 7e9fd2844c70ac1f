import type { IncomingMessage, ServerResponse } from 'node:http';
import * as framework from 'next';

export interface Screens {
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>;
  close(): Promise<void>;
}

interface Framework {
  prepare(): Promise<void>;
  getRequestHandler(): Screens['handle'];
  close(): Promise<void>;
}

/** A CommonJS module whose types describe another kind of module. */
const create = framework.default as unknown as (options: {
  readonly dev: boolean;
  readonly dir: string;
  readonly quiet: boolean;
}) => Framework;

/** The built screens in `dir`. */
export async function startScreens(dir: string): Promise<Screens> {
  const app = create({ dev: false, dir, quiet: true });
  await app.prepare();
  return { handle: app.getRequestHandler(), close: () => app.close() };
}
