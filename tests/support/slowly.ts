import { createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as after } from 'node:timers/promises';

/** A page with more tags than this comes in this many pieces. */
const PIECES = 80;
/** Long enough for a browser to paint what has arrived. */
const PIECE_EVERY_MS = 20;

const TAG_NAME = /<\/?[\w-]+/g;

/** Long after the first paint. */
const FONTS_AFTER_MS = 300;

/**
 * Serves the same site, but its pages arrive tag by tag and its fonts late, as over a slow
 * connection. What surrounds every screen arrives like this only once, because each piece makes the
 * browser paint. From then on it comes in one piece.
 */
export async function slowly(site: string): Promise<{ url: string; close(): Promise<void> }> {
  const known = new Set<string>();
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
        await dribble(Buffer.concat(await response.toArray()).toString(), answer, known);
      },
    );
    passed.on('error', () => answer.destroy());
    asked.pipe(passed);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    // On the same host, so that whoever is signed in there is signed in here.
    url: `http://${new URL(site).hostname}:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}

async function dribble(page: string, answer: ServerResponse, known: Set<string>): Promise<void> {
  const whole = inPlace(page);
  let sent = 0;
  for (const cut of cutPositions(whole, known)) {
    answer.write(whole.slice(sent, cut));
    sent = cut;
    await after(PIECE_EVERY_MS);
  }
  answer.end(whole.slice(sent));
}

/**
 * Where to cut a page: before tags, as far as they show something that has not been sent before.
 */
function cutPositions(page: string, known: Set<string>): readonly number[] {
  const body = page.indexOf('<body');
  const main = page.indexOf('<main');
  const surroundings = page.slice(body, main).match(TAG_NAME)?.join() ?? '';
  const from = known.has(surroundings) ? main : body;
  known.add(surroundings);
  const seen = page.slice(body, page.indexOf('<script', page.indexOf('</main>')));
  const tags = [...seen.matchAll(/</g)].map(({ index }) => body + index);
  return tags.filter((tag, i) => tag >= from && i % Math.ceil(tags.length / PIECES) === 0);
}

/** What React sends after the page, hidden and within the tags that HTML asks for around it. */
const LATE =
  /(?:<table hidden>)?<(div|table|tbody|tr)(?: hidden)? id="(S:\w+)">(.*?)<\/\1>(?:<\/table>)?(?=<script|<(?:div|table) hidden)/gs;

/**
 * Returns the page as the server would send it if the screen were ready before anything is sent.
 * Otherwise the server sends the screen hidden, after something that says it is loading, and shows
 * it once it is complete.
 */
function inPlace(page: string): string {
  const late = new Map<string, string>();
  let rest = page.replace(LATE, (_, _tag, id, html) => {
    late.set(id, html);
    return '';
  });
  const ready = (id: string) => late.get(id) ?? '';
  for (const [, segment = '', place] of page.matchAll(/\$RS\("(S:\w+)","(P:\w+)"\)/g)) {
    const put = (html: string) => html.replace(`<template id="${place}"></template>`, () => ready(segment));
    rest = put(rest);
    for (const [id, html] of late) late.set(id, put(html));
  }
  for (const [, place, segment = ''] of page.matchAll(/\$RC\("(B:\w+)","(S:\w+)"\)/g)) {
    const waiting = new RegExp(`<!--\\$\\?--><template id="${place}"></template>.*?<!--/\\$-->`, 's');
    rest = rest.replace(waiting, () => `<!--$-->${ready(segment)}<!--/$-->`);
  }
  return rest.replace(/\$R[SC]\("[^)]*\)/g, '');
}
