import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { type Admin, startAdmin } from './admin.ts';
import type { Logger } from './logger.ts';
import { Counter, createMetrics, Gauge } from './metrics.ts';

const host = '127.0.0.1';
let admin: Admin | undefined;
/** What was logged, in words. */
let logged: string[] = [];
const logger = {
  info: (message: string) => void logged.push(message),
  warn: ({ reason }: { reason: string }, message: string) => void logged.push(`${message}: ${reason}`),
} as unknown as Logger;

const explain = (error: unknown) =>
  (error as Error).message === 'no login' ? 'Postgres refuses the user.' : null;

async function start(
  ready: Parameters<typeof startAdmin>[0]['ready'],
  metrics = createMetrics('test'),
): Promise<string> {
  admin = await startAdmin({ port: 0, host, metrics, ready, logger, explain });
  return `http://${host}:${admin.port}`;
}

afterEach(async () => {
  await admin?.close();
  admin = undefined;
  logged = [];
});

describe('the admin server', () => {
  it('is live whether or not it is ready, and ready when its check says so', async () => {
    let ready = false;
    const url = await start(() => ready || 'no catalog yet');
    const healthy = await fetch(`${url}/healthz`);
    expect([healthy.status, await healthy.text()]).toEqual([
      200,
      expect.stringMatching(/^live \d+\.\d+\.\d+\n$/),
    ]);
    expect((await fetch(`${url}/readyz`)).status).toBe(503);
    ready = true;
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
  });

  it('is not ready while its check throws, rejects or never answers', async () => {
    let check: () => true | Promise<true> = () => {
      throw new Error('unavailable');
    };
    const url = await start(() => check());
    expect((await fetch(`${url}/readyz`)).status).toBe(503);
    check = () => Promise.reject(new Error('unavailable'));
    expect((await fetch(`${url}/readyz`)).status).toBe(503);
    check = () => new Promise(() => {});
    expect((await fetch(`${url}/readyz`)).status).toBe(503);
  });

  it('says why it is not ready, if it knows', async () => {
    const response = await fetch(`${await start(async () => 'Redis is unavailable.')}/readyz`);
    expect(response.status).toBe(503);
    expect(await response.text()).toBe('not ready: Redis is unavailable.\n');
  });

  it('logs each change of readiness once, with its reason', async () => {
    const answers: (true | string | Error)[] = [
      ...([true, 'Redis is unavailable', 'Redis is unavailable', 'no catalog yet', true, true] as const),
      ...[new Error('unavailable'), new Error('no login')],
    ];
    const url = await start(() => {
      // The last answer is kept, because the server also checks from time to time by itself.
      const answer = answers.length > 1 ? answers.shift() : answers[0];
      if (answer instanceof Error) throw answer;
      return answer ?? true;
    });
    while (answers.length > 1) await fetch(`${url}/readyz`);
    await fetch(`${url}/readyz`);
    expect(logged).toEqual([
      'not ready: Redis is unavailable',
      'not ready: no catalog yet',
      'ready again',
      'not ready: the readiness check failed',
      'not ready: Postgres refuses the user.',
    ]);
  });

  it('is not ready while it shuts down, and leaves it to the service to log that', async () => {
    const stopping = new AbortController();
    const metrics = createMetrics('test');
    admin = await startAdmin({
      port: 0,
      host,
      metrics,
      logger,
      ready: () => true,
      stopping: stopping.signal,
    });
    stopping.abort();
    const response = await fetch(`http://${host}:${admin.port}/readyz`);
    expect([response.status, await response.text()]).toEqual([503, 'not ready: it is shutting down\n']);
    expect(logged).toEqual([]);
  });

  it("serves the process's metrics and the service's own, labelled with the service", async () => {
    const metrics = createMetrics('limiter');
    new Counter({ name: 'decisions_total', help: 'Decisions made', registers: [metrics] }).inc(3);
    const url = await start(() => true, metrics);
    const response = await fetch(`${url}/metrics`);
    const text = await response.text();
    expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(text).toContain('decisions_total{service="limiter"} 3');
    expect(text).toMatch(/process_cpu_user_seconds_total\{service="limiter"\}/);
    expect(text).toMatch(/nodejs_eventloop_utilization_ratio\{service="limiter"\} [01]/);
    // These would report the monitor's own interval.
    expect(text).not.toMatch(/nodejs_eventloop_lag_(min|max|mean|p\d+)_seconds/);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('unavailable');
      },
    ],
    ['rejects', () => Promise.reject(new Error('unavailable'))],
    ['never ends', () => new Promise<void>(() => {})],
  ])('leaves out a metric whose collection %s, and serves all others', async (_what, collect) => {
    const metrics = createMetrics('test');
    const registers = [metrics];
    new Gauge({ name: 'lost', help: 'Of a store that is unavailable', registers, collect }).set(1);
    new Counter({ name: 'kept_total', help: 'Of this process', registers }).inc(3);
    const response = await fetch(`${await start(() => true, metrics)}/metrics`);
    expect(response.status).toBe(200);
    const text = await response.text();
    expect(text).toContain('kept_total{service="test"} 3');
    expect(text).not.toContain('lost');
  });

  it('knows no other path and no other method', async () => {
    const url = await start(() => true);
    expect((await fetch(`${url}/other`)).status).toBe(404);
    expect((await fetch(`${url}/healthz`, { method: 'POST' })).status).toBe(405);
    expect((await fetch(`${url}/healthz?x=1`, { method: 'HEAD' })).status).toBe(200);
  });

  it('rejects when its port is taken', async () => {
    const taken = createServer().listen(0, host);
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    await expect(
      startAdmin({ port, host, metrics: createMetrics('test'), ready: () => true, logger }),
    ).rejects.toThrow(/EADDRINUSE/);
    taken.close();
  });

  it('closes even if a client keeps its connection open', async () => {
    const url = await start(() => true);
    await (await fetch(`${url}/healthz`)).text();
    await admin?.close();
    await expect(fetch(`${url}/healthz`)).rejects.toThrow();
  });
});
