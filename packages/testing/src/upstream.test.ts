import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from './eventually.ts';
import { startUpstream, type Upstream, type UpstreamHandler } from './upstream.ts';

let upstream: Upstream | undefined;
afterEach(async () => upstream?.close());

async function start(handler: UpstreamHandler): Promise<Upstream> {
  upstream = await startUpstream(handler);
  return upstream;
}

const send = (url: string, signal: AbortSignal | null = null): Promise<Response> =>
  fetch(`${url}/v1/chat/completions`, { method: 'POST', body: '{"model":"m"}', signal });

describe('startUpstream', () => {
  it('records what it was sent and answers as told', async () => {
    const { url, requests } = await start((request, reply) =>
      reply.json({ asked: request.json().model }, { status: 418, headers: { 'x-model': 'evil' } }),
    );
    const response = await send(url);
    expect([response.status, response.headers.get('x-model')]).toEqual([418, 'evil']);
    expect(await response.json()).toEqual({ asked: 'm' });
    expect(requests).toMatchObject([{ method: 'POST', path: '/v1/chat/completions', body: '{"model":"m"}' }]);
  });

  it('streams events', async () => {
    const { url } = await start(async (_, reply) => {
      await reply.event({ n: 1 });
      await reply.write(': comment\r\n\r\n');
      await reply.done();
    });
    const response = await send(url);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(await response.text()).toBe('data: {"n":1}\n\n: comment\r\n\r\ndata: [DONE]\n\n');
  });

  it('breaks a connection in mid-stream', async () => {
    const { url } = await start(async (_, reply) => {
      await reply.event('partial');
      reply.reset();
    });
    const response = await send(url);
    await expect(response.text()).rejects.toThrow('terminated');
  });

  it('breaks the connection of a handler that throws', async () => {
    const { url } = await start(() => {
      throw new Error('model fell over');
    });
    await expect(send(url)).rejects.toThrow('fetch failed');
  });

  it('stalls until the client gives up, and counts what is in flight', async () => {
    const running = await start(async (_, reply) => {
      reply.start();
      await reply.closed;
    });
    const client = new AbortController();
    await Promise.all([send(running.url, client.signal), send(running.url, client.signal)]);
    expect(running.inFlight).toBe(2);
    client.abort();
    await eventually(() => running.inFlight === 0);
    expect(running.peakInFlight).toBe(2);
  });

  it('closes though answers are open', async () => {
    const { url, close } = await start((_, reply) => reply.start());
    const response = await send(url);
    await close();
    await expect(response.text()).rejects.toThrow('terminated');
    await close();
  });
});
