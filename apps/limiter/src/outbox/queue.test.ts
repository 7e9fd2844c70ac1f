import { expect, it } from '@jest/globals';
import { eventually, testRedis } from '@tidegate/testing';
import { createSettlementQueue } from './queue.ts';

it('a queue whose Redis hangs makes calls fail, and is used again when Redis answers', async () => {
  const redis = await testRedis();
  const queue = createSettlementQueue({
    ...{ redisUrl: redis.url, redisPrefix: 'tg:', answerTimeoutMs: 2_000 },
    onError: () => {},
  });
  const signal = (name: NodeJS.Signals) => {
    for (const pid of redis.pids) process.kill(pid, name);
  };
  try {
    expect(await eventually(() => queue.backlog())).toBe(0);
    signal('SIGSTOP');
    await expect(queue.backlog()).rejects.toThrow();
    await expect(queue.add([], { jobId: 'meanwhile' })).rejects.toThrow();
    signal('SIGCONT');
    await eventually(() => queue.add([], { jobId: 'afterwards' }).then(() => true));
    expect(await queue.backlog()).toBeGreaterThan(0);
  } finally {
    signal('SIGCONT');
    await queue.close();
    await redis.stop();
  }
});
