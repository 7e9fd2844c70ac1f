import { createServer, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { eventually, startUpstream, type Upstream, type UpstreamHandler } from '@tidegate/testing';
import { COMPLETIONS, call, dial } from '../../support/http.ts';
import { ask, newKey, newOrg, publish } from '../../support/org.ts';
import { useSharedStack } from '../../support/stack.ts';

export const CONTEXT = 1_000;
export const KIB = 1024;
export const MIB = 1024 * KIB;
const HEADERS_TIMEOUT_MS = 6_000;
export const USAGE = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };

/** What the model does, by the content of the message. */
export const script: Record<string, UpstreamHandler> = {
  wait: (_request, reply) => reply.closed,
  begin: async (_request, reply) => {
    await reply.event({ choices: [{ delta: { content: 'a' } }] });
    await reply.closed;
  },
  all: async (_request, reply) => {
    await reply.event({ choices: [{ delta: { content: 'a' }, finish_reason: 'stop' }], usage: USAGE });
    await reply.done();
  },
};
const whole: UpstreamHandler = (_request, reply) =>
  reply.json({
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
    usage: USAGE,
  });

export const request = (key: string, body: string, more = '') =>
  `POST ${COMPLETIONS} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${key}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n${more}\r\n${body}`;
export const text = (content: string, more: object = {}) => JSON.stringify(ask('tide', content, more));
export type World = ReturnType<typeof useWorld>;

/** Starts a gateway and a model that follows `script`. Closes connections after each test. */
export function useWorld() {
  const stack = useSharedStack({
    TRUSTED_PROXIES: '1',
    HEADERS_TIMEOUT_MS: String(HEADERS_TIMEOUT_MS),
    IMAGE_ALLOWED_NETWORKS: '127.0.0.1/32',
  });
  const base = () => stack().info.gateway;
  const sockets: Socket[] = [];
  /** A server that accepts connections and sends nothing. */
  const silent = createServer((socket) => socket.on('error', () => {}));
  let model: Upstream | undefined;
  let key = '';
  let addresses = 0;
  const contents = () =>
    (model?.requests ?? [])
      .filter(({ method }) => method === 'POST')
      .map((asked) => asked.json().messages[0].content as unknown);

  /**
   * Creates an organization with a text model, `tide`, and a vision model, `eyes`. Resolves to it
   * and a key when both run.
   */
  async function newOrgWithModels(): Promise<{ org: string; key: string }> {
    const org = await newOrg(stack(), { images: true });
    const models = [
      ['tide', 'text'],
      ['eyes', 'vision'],
    ] as const;
    for (const [name, kind] of models) {
      await publish(stack(), org, model?.url ?? '', { name, kind, context: CONTEXT });
    }
    const { key: made } = await newKey(stack(), org);
    for (const [name] of models) {
      await eventually(async () => (await call(base(), { key: made, body: ask(name, 'Hi') })).status === 200);
    }
    return { org, key: made };
  }

  async function connection(): Promise<Socket> {
    const socket = await dial(base());
    sockets.push(socket.on('error', () => {}));
    return socket;
  }

  beforeAll(async () => {
    model = await startUpstream((asked, reply) => {
      const content = asked.method === 'POST' ? asked.json().messages[0].content : '';
      return (script[content] ?? whole)(asked, reply);
    });
    silent.listen(0, '127.0.0.1');
    key = (await newOrgWithModels()).key;
  });
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });
  afterAll(async () => {
    silent.close();
    await model?.close();
  });
  return {
    stack,
    base,
    silent,
    key: () => key,
    connection,
    newOrgWithModels,
    /** How often the model was asked this. */
    asked: (content: string) => contents().filter((one) => one === content).length,
    modelInFlight: () => model?.inFlight ?? 0,
    /**
     * A header with a new client address. The gateway accepts few invalid keys a minute from each
     * address.
     */
    from: () => `x-forwarded-for: 198.18.${Math.floor(++addresses / 250)}.${addresses % 250}\r\n`,
  };
}
