import { afterAll, beforeAll } from '@jest/globals';
import { type Standin, startStandin } from '@tidegate/standin';
import { eventually, startUpstream } from '@tidegate/testing';
import { ask, newKey, newOrg, post, publish } from '../support/org.ts';
import { ctl, useStack } from '../support/stack.ts';

const ANSWER = {
  id: 'x',
  object: 'chat.completion',
  created: 1,
  model: 'x',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Up at last.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};

export interface World {
  /** The API's address. */
  readonly base: string;
  readonly key: string;
  readonly standin: Standin;
  newKey(limits: { atOnce: number }): Promise<string>;
  /** Of an organization whose month has no room for a single request. */
  readonly poorKey: string;
  /** Publishes a model that goes on starting until told. */
  startingModel(name: string): Promise<{ ready(): Promise<void> }>;
}

/** A real stack with what clients are tried on: models tide (text), eyes (vision) and stopped. */
export function useWorld(): () => World {
  const stack = useStack({ demo: false });
  const models: { close(): Promise<void> }[] = [];
  let world: World | undefined;

  async function build(): Promise<World> {
    const base = stack().info.gateway;
    const standin = await startStandin({ names: ['tide', 'eyes', 'stopped'], kind: 'vision' });
    models.push(standin);
    const org = await newOrg(stack(), { images: true });
    const poor = await newOrg(stack(), { tokensMonth: 999 });
    await publish(stack(), org, standin.url);
    await publish(stack(), org, standin.url, { name: 'eyes', kind: 'vision' });
    await publish(stack(), org, standin.url, { name: 'stopped' });
    await publish(stack(), poor, standin.url);
    await ctl(stack(), 'model', 'stop', '--org', org, '--name', 'stopped');
    const { key } = await newKey(stack(), org);
    const { key: poorKey } = await newKey(stack(), poor);
    const answers = (model: string, as: string, status: number) =>
      eventually(async () => (await post(base, as, ask(model, 'x'))).status === status, {
        timeoutMs: 30_000,
      });
    await Promise.all([answers('tide', key, 200), answers('eyes', key, 200), answers('tide', poorKey, 429)]);

    return {
      ...{ base, key, poorKey, standin },
      newKey: async (limits) => (await newKey(stack(), org, limits)).key,
      startingModel: async (name) => {
        let up = false;
        const upstream = await startUpstream(({ method }, reply) =>
          up
            ? reply.json(method === 'GET' ? {} : ANSWER)
            : reply.json({ error: { message: 'not yet' } }, { status: 503 }),
        );
        models.push(upstream);
        await publish(stack(), org, upstream.url, { name });
        await answers(name, key, 503);
        return {
          ready: async () => {
            up = true;
            await answers(name, key, 200);
          },
        };
      },
    };
  }

  beforeAll(async () => {
    world = await build();
  });
  afterAll(() => Promise.all(models.map((model) => model.close())));
  return () => {
    if (!world) throw new Error('the world has not been built');
    return world;
  };
}
