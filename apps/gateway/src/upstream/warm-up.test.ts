import { expect, it } from '@jest/globals';
import { eventually } from '@tidegate/testing';
import { Agent } from 'undici';
import { warmUp } from './warm-up.ts';

const reserve = async () => {};

it('reserves for each call, has it answered over a new connection, and leaves none', async () => {
  const upstream = new Agent({ connections: null, pipelining: 1 });
  let connected = 0;
  let open = 0;
  upstream.on('connect', () => {
    connected++;
    open++;
  });
  upstream.on('disconnect', () => open--);
  let reserved = 0;
  const count = async () => void reserved++;
  const answered = await warmUp(upstream, count, () => true);
  expect(reserved).toBe(answered);
  expect(answered).toBeGreaterThan(1_000);
  expect(connected).toBe(answered);
  await eventually(() => open === 0);
  expect(upstream.stats).toEqual({});
  await upstream.close();
});

it('begins no further call once nobody waits', async () => {
  const upstream = new Agent({ connections: null, pipelining: 1 });
  let asked = 0;
  const answered = await warmUp(upstream, reserve, () => asked++ < 50);
  expect(answered).toBe(50);
  await upstream.close();
});

it('ends when nothing can be called', async () => {
  const upstream = new Agent();
  await upstream.destroy();
  expect(await warmUp(upstream, reserve, () => true)).toBe(0);
});
