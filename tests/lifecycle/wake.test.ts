import { describe, expect, it } from '@jest/globals';
import { eventually } from '@tidegate/testing';
import { ask, client } from '../support/org.ts';
import { modelsOf, useStack } from '../support/stack.ts';

describe('the demo model that wakes on request', () => {
  const stack = useStack();
  const condition = async () => {
    const models = await modelsOf(stack(), stack().info.org ?? '');
    return models.find(({ name }) => name === 'demo-wake')?.condition;
  };

  it('answers its first request after really starting its process, and sleeps again when idle [service.wake] [state.model.asleep]', async () => {
    const api = client(stack().info.gateway, stack().info.apiKey ?? '');
    expect(await condition()).toBe('asleep');
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => api.chat.completions.create(ask('demo-wake', 'Good morning'))),
    );
    for (const answer of answers) expect(answer.choices[0]?.message.content).toMatch(/\w/);
    expect(await condition()).toBe('running');
    await eventually(async () => (await condition()) === 'asleep', { intervalMs: 500 });
    const again = await api.chat.completions.create(ask('demo-wake', 'Good morning again'));
    expect(again.model).toBe('demo-wake');
  });
});
