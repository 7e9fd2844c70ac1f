import { createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as after } from 'node:timers/promises';

const PIECES = 60;
/** Long enough for a browser to paint what has arrived. */
const PIECE_EVERY_MS = 30;

/** Long after the first paint. */
const FONTS_AFTER_MS = 300;

/**
 * Serves the same site, but its pages arrive tag by tag and its fonts late, as over a slow
 * connection.
 */
export async function slowly(site: string): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer((asked, answer) => {
    const { 'accept-encoding': _, ...headers } = asked.headers;
    const passed = request(
      new URL(asked.url ?? '/', site),
      { method: asked.method, headers: { ...headers, host: new URL(site).host } },
      async (response) => {
        const { 'content-length': __, 'transfer-encoding': ___, ...rest } = response.headers;
        answer.writeHead(response.statusCode ?? 502, rest);
        const type = response.headers['content-type'] ?? '';
        if (type.startsWith('font/')) await after(FONTS_AFTER_MS);
        if (!type.startsWith('text/html')) return response.pipe(answer);
        await dribble(Buffer.concat(await response.toArray()).toString(), answer);
      },
    );
    passed.on('error', () => answer.destroy());
    asked.pipe(passed);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    // Of the same host, so that who is signed in there is signed in here.
    url: `http://${new URL(site).hostname}:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}

async function dribble(page: string, answer: ServerResponse): Promise<void> {
  const body = page.indexOf('<body');
  const tags = [...page.slice(body).matchAll(/</g)].map(({ index }) => body + index);
  const cuts = tags.filter((_, i) => i % Math.ceil(tags.length / PIECES) === 0);
  let sent = 0;
  for (const cut of cuts) {
    answer.write(page.slice(sent, cut));
    sent = cut;
    await after(PIECE_EVERY_MS);
  }
  answer.end(page.slice(sent));
}
