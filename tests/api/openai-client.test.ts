import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Standin, startStandin } from '@tidegate/standin';
import { eventually } from '@tidegate/testing';
import { ask, client, newKey, newOrg, publish } from '../support/org.ts';
import { usageOf, useSharedStack } from '../support/stack.ts';

const stack = useSharedStack();
let standin: Standin;
let org: string;
let key: string;
const api = () => client(stack().info.gateway, key);

beforeAll(async () => {
  standin = await startStandin({ names: ['tide', 'eyes'], kind: 'vision' });
  org = await newOrg(stack(), { images: true });
  await publish(stack(), org, standin.url);
  await publish(stack(), org, standin.url, { name: 'eyes', kind: 'vision' });
  key = (await newKey(stack(), org)).key;
  for (const model of ['tide', 'eyes'])
    await eventually(() => api().chat.completions.create(ask(model, 'Are you there?')));
});
afterAll(() => standin?.close());

const picture = (name: string, type: string): string =>
  `data:${type};base64,${readFileSync(new URL(`../fixtures/${name}`, import.meta.url)).toString('base64')}`;

describe('the official openai package', () => {
  it('lists the published models [service.format]', async () => {
    const models = [];
    for await (const model of api().models.list()) models.push(model);
    expect(models.map(({ id }) => id).sort()).toEqual(['eyes', 'tide']);
    for (const model of models) {
      expect(model).toEqual({
        id: expect.any(String),
        object: 'model',
        created: expect.any(Number),
        owned_by: 'organization',
      });
    }
  });

  it('gets a whole answer of exactly the standard fields [answer.usage] [service.format] [version.compatible]', async () => {
    const before = Math.floor(Date.now() / 1000);
    const answer = await api().chat.completions.create(ask('tide', 'How deep is the sea?'));
    expect(answer).toEqual({
      id: expect.stringMatching(/^chatcmpl-/),
      object: 'chat.completion',
      created: expect.any(Number),
      model: 'tide',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: expect.stringMatching(/\w/) },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: {
        prompt_tokens: expect.any(Number),
        completion_tokens: expect.any(Number),
        total_tokens: (answer.usage?.prompt_tokens ?? 0) + (answer.usage?.completion_tokens ?? 0),
      },
    });
    expect(answer.created).toBeGreaterThanOrEqual(before);
  });

  it('gets a streamed answer with usage, under one id, with the text of the whole one [service.format] [version.compatible]', async () => {
    const whole = await api().chat.completions.create(ask('tide', 'And how wide?'));
    const stream = await api().chat.completions.create({
      ...ask('tide', 'And how wide?'),
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(new Set(chunks.map(({ id, created, model }) => `${id} ${created} ${model}`)).size).toBe(1);
    expect(chunks[0]?.choices[0]?.delta).toEqual({ role: 'assistant', content: '' });
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe(
      whole.choices[0]?.message.content,
    );
    const reasons = chunks.slice(0, -1).map(({ choices }) => choices[0]?.finish_reason);
    expect(reasons.slice(0, -1).every((reason) => reason === null)).toBe(true);
    expect(reasons.at(-1)).toBe('stop');
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: whole.usage });
  });

  it('says length when max_tokens was reached [answer.finish_reason.length] [request.max_tokens.effect]', async () => {
    const answer = await api().chat.completions.create(ask('tide', '[[tokens=50]]', { max_tokens: 7 }));
    expect(answer.choices[0]?.finish_reason).toBe('length');
    expect(answer.usage?.completion_tokens).toBe(7);
  });

  it.each([
    ['harbour.png', 'image/png', /png.*320\s*x\s*200|320\s*x\s*200.*png/i],
    ['harbour.jpg', 'image/jpeg', /jpe?g.*240\s*x\s*150|240\s*x\s*150.*jpe?g/i],
  ])('gets an answer about a real picture: %s [service.kinds]', async (name, type, seen) => {
    const answer = await api().chat.completions.create({
      model: 'eyes',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image_url', image_url: { url: picture(name, type), detail: 'low' } },
          ],
        },
      ],
    });
    expect(answer.choices[0]?.message.content).toMatch(seen);
    expect(answer.usage?.prompt_tokens).toBeGreaterThan(10);
  });

  it('finds each of its answers in the usage, tokens and all', async () => {
    // Waits until earlier requests are metered and so visible.
    const before = await eventually(async () => {
      const { totals, month } = await usageOf(stack(), org);
      return totals.requests === month.requests && totals;
    });
    const answer = await api().chat.completions.create(ask('tide', 'Once more.'));
    await eventually(async () => {
      const { totals } = await usageOf(stack(), org);
      expect(totals.requests).toBe(before.requests + 1);
      expect(totals.errors).toBe(before.errors);
      expect(totals.promptTokens).toBe(before.promptTokens + (answer.usage?.prompt_tokens ?? 0));
      expect(totals.completionTokens).toBe(before.completionTokens + (answer.usage?.completion_tokens ?? 0));
      return true;
    });
  });
});
