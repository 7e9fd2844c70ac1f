import { expect, it, jest } from '@jest/globals';
import { eventually } from '@tidegate/testing';
import { Agent } from 'undici';
import { warmUp } from './warm-up.ts';

const reserve = async () => {};

it('reserves for each call, has it answered by one of several servers over a new connection, and leaves none', async () => {
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
  const calls = jest.spyOn(upstream, 'dispatch');
  let reserved = 0;
  const count = async () => void reserved++;
  const answered = await warmUp(upstream, count, () => true);
  expect(answered).toBeGreaterThan(1_000);
  // On a busy machine, the time of some calls is up before they are answered.
  expect(connected).toBeGreaterThanOrEqual(answered);
  expect(reserved).toBe(calls.mock.calls.length);
  expect(servers.size).toBeGreaterThan(10);
  await eventually(() => open === 0 && Object.keys(upstream.stats).length === 0);
  await upstream.close();
});

it('begins no further burst of calls once nobody waits', async () => {
  const upstream = new Agent({ connections: null, pipelining: 1 });
  let reserved = 0;
  const count = async () => void reserved++;
  expect(await warmUp(upstream, count, () => reserved < 100)).toBeGreaterThan(0);
  expect(reserved).toBeGreaterThanOrEqual(100);
  expect(reserved).toBeLessThan(200);
  await upstream.close();
});

it('ends when nothing can be called', async () => {
  const upstream = new Agent();
  await upstream.destroy();
  expect(await warmUp(upstream, reserve, () => true)).toBe(0);
});
