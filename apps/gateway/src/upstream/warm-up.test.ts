import { expect, it } from '@jest/globals';
import { eventually } from '@tidegate/testing';
import { Agent } from 'undici';
import { warmUp } from './warm-up.ts';

/** Long enough that no call ends because the machine is busy. */
const TIMEOUT_MS = 60_000;
const reserve = async () => {};

it('reserves for each call, has it answered by one of several servers over a new connection, and leaves no connection open', async () => {
  const upstream = new Agent({ connections: null, pipelining: 1 });
  const servers = new Set<string>();
  let connected = 0;
  let open = 0;
  upstream.on('connect', ({ origin }) => {
    servers.add(origin);
    connected++;
    open++;
  });
  upstream.on('disconnect', () => open--);
  let reserved = 0;
  const count = async () => void reserved++;
  const answered = await warmUp(upstream, count, () => true, TIMEOUT_MS);
  expect(reserved).toBe(answered);
  expect(answered).toBeGreaterThan(1_000);
  expect(connected).toBe(answered);
  expect(servers.size).toBeGreaterThan(10);
  await eventually(() => open === 0);
  expect(upstream.stats).toEqual({});
  await upstream.close();
});

it('begins no further burst of calls once no one is waiting', async () => {
  const upstream = new Agent({ connections: null, pipelining: 1 });
  let reserved = 0;
  const count = async () => void reserved++;
  const answered = await warmUp(upstream, count, () => reserved < 100, TIMEOUT_MS);
  expect(answered).toBe(reserved);
  expect(answered).toBeLessThan(200);
  await upstream.close();
});

it('ends when nothing can be called', async () => {
  const upstream = new Agent();
  await upstream.destroy();
  expect(await warmUp(upstream, reserve, () => true)).toBe(0);
});
