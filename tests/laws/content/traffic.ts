import { readFileSync } from 'node:fs';
import { type Call, call, dial, open } from '../../support/http.ts';
import type { Canaries } from './canaries.ts';
import { WAYS } from './model.ts';

const PICTURE = readFileSync(new URL('../../fixtures/harbour.png', import.meta.url));
const MIB = 1024 * 1024;

export interface Caller {
  readonly base: string;
  readonly key: string;
}

/** A request with a canary wherever content can be. */
export function requestOf(canaries: Canaries, way: string, more: object = {}): object {
  return {
    model: 'tide',
    messages: [
      { role: 'system', content: canaries.at('System') },
      { role: 'user', content: [{ type: 'text', text: `do:${way} "${canaries.at('Prompt')}"\n` }] },
    ],
    stop: [canaries.at('Stop')],
    user: canaries.at('User'),
    ...more,
  };
}

const withImage = (canaries: Canaries, url: string) =>
  requestOf(canaries, 'whole', {
    model: 'eyes',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: canaries.at('Caption') },
          { type: 'image_url', image_url: { url } },
        ],
      },
    ],
  });

/** A picture whose last bytes are a canary. */
const pictureOf = (canaries: Canaries): string =>
  `data:image/png;base64,${Buffer.concat([PICTURE, Buffer.from(canaries.at('Picture'))]).toString('base64')}`;

/** Requests that end by themselves: answered, failed by the model, or refused for each reason. */
export function calls(canaries: Canaries, key: string): Call[] {
  const bodies: (object | string)[] = [
    ...WAYS.map((way) => requestOf(canaries, way)),
    ...WAYS.map((way) => requestOf(canaries, way, { stream: true, stream_options: { include_usage: true } })),
    withImage(canaries, pictureOf(canaries)),
    withImage(canaries, pictureOf(canaries).replace('image/png', 'image/gif')),
    withImage(canaries, `https://127.0.0.1:1/${canaries.at('Link')}.png`),
    withImage(canaries, `http://images.example/${canaries.at('PlainLink')}.png`),
    { ...withImage(canaries, pictureOf(canaries)), model: 'tide' },
    requestOf(canaries, 'whole', { model: canaries.at('Model') }),
    requestOf(canaries, 'whole', { model: 'stopped' }),
    requestOf(canaries, 'whole', { [canaries.at('Field')]: canaries.at('Value') }),
    requestOf(canaries, 'whole', { response_format: canaries.at('Format') }),
    requestOf(canaries, 'whole', { temperature: canaries.at('Temperature') }),
    requestOf(canaries, 'whole', { stop: canaries.at('LongStop').repeat(9) }),
    requestOf(canaries, 'whole', {
      messages: [{ role: canaries.at('Role'), content: canaries.at('Content') }],
    }),
    requestOf(canaries, 'whole', { max_tokens: 1001 }),
    JSON.stringify(requestOf(canaries, 'whole')).slice(0, -9),
    JSON.stringify(requestOf(canaries, 'x'.repeat(2 * MIB))),
  ];
  const good = requestOf(canaries, 'whole');
  const mistyped = `${key.slice(0, -1)}${key.endsWith('a') ? 'b' : 'a'}`;
  return [
    ...bodies.map((body) => ({ key, body })),
    { key: mistyped, body: good },
    { key: canaries.at('Key'), body: good },
    {
      headers: { authorization: `Basic ${Buffer.from(canaries.at('Basic')).toString('base64')}` },
      body: good,
    },
    { key, body: good, target: `/v1/${canaries.at('Path')}` },
    { key, body: good, target: `/v1/chat/completions?key=${key}&q=${canaries.at('Query')}` },
    { key, body: good, method: 'PUT' },
    { key, body: good, headers: { cookie: canaries.at('Cookie'), 'user-agent': canaries.at('Agent') } },
    { key, method: 'GET', target: '/v1/models', headers: { referer: canaries.at('Referer') } },
  ];
}

export const send = (base: string, requests: readonly Call[]): Promise<unknown> =>
  Promise.all(requests.map((request) => call(base, request)));

/** Starts an answer that does not end. Resolves when it has begun, and lets the caller hang up. */
export async function begin({ base, key }: Caller, canaries: Canaries): Promise<{ hangUp(): void }> {
  const body = requestOf(canaries, 'hang', { stream: true });
  const answer = await open(base, { key, body });
  answer.on('error', () => {});
  return { hangUp: () => void answer.destroy() };
}

/** Sends the head and a part of the body, then hangs up. */
export async function breakOff({ base, key }: Caller, canaries: Canaries): Promise<void> {
  const body = JSON.stringify(requestOf(canaries, 'whole'));
  const socket = await dial(base);
  const head = ['POST /v1/chat/completions HTTP/1.1', 'host: x', `authorization: Bearer ${key}`];
  const lines = [...head, `content-length: ${body.length}`, '', body.slice(0, -20)];
  await new Promise<void>((resolve) => socket.write(lines.join('\r\n'), () => resolve()));
  socket.destroy();
}
