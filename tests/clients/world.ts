import { afterAll, beforeAll } from '@jest/globals';
import type { Control } from '@tidegate/control';
import { type Standin, startStandin } from '@tidegate/standin';
import { eventually, generousPlan, startUpstream } from '@tidegate/testing';
import { must, OPERATOR, openControl } from '../support/control.ts';
import { ask, post } from '../support/org.ts';
import { useSharedStack } from '../support/stack.ts';

const CONTEXT_TOKENS = 1000;
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
  /** A key that allows one request at once. */
  readonly narrowKey: string;
  readonly standin: Standin;
  /** A key of an organization whose month has no room for a single request. */
  readonly poorKey: string;
  /** Publishes the model `slow`. It is starting until the returned function is called. */
  publishSlow(): Promise<() => Promise<void>>;
}

/** Readies the shared stack for the clients: the models tide (text), eyes (vision) and stopped. */
export function useWorld(): () => World {
  const stack = useSharedStack();
  const ends: (() => Promise<void>)[] = [];
  let world: World | undefined;

  beforeAll(async () => {
    world = await managed((control) => build(control, stack().info.gateway));
  });
  afterAll(() => Promise.all(ends.map((end) => end())));

  /** Closes its connections, because tests record the timers of this process. */
  async function managed<T>(work: (control: Control) => Promise<T>): Promise<T> {
    const { control, close } = openControl(stack());
    return work(control).finally(close);
  }

  async function build(control: Control, base: string): Promise<World> {
    const standin = await startStandin({ names: ['tide', 'eyes', 'stopped'], kind: 'vision' });
    let up = false;
    const slow = await startUpstream(({ method }, reply) => {
      if (up) reply.json(method === 'GET' ? {} : ANSWER);
      else reply.json({ error: { message: 'not yet' } }, { status: 503 });
    });
    ends.push(standin.close, slow.close);
    const org = await newOrg(control, 'Rich', 1_000_000);
    const poor = await newOrg(control, 'Poor', CONTEXT_TOKENS - 1);
    await publish(control, org, 'tide', standin.url);
    await publish(control, org, 'eyes', standin.url, 'vision');
    await publish(control, org, 'stopped', standin.url);
    await publish(control, poor, 'tide', standin.url);
    must(await control.stopModel(OPERATOR, { org, name: 'stopped' }));
    const key = await newKey(control, org);
    const poorKey = await newKey(control, poor);
    const answers = (model: string, as: string, status: number) =>
      eventually(async () => (await post(base, as, ask(model, 'x'))).status === status);
    await Promise.all([answers('tide', key, 200), answers('eyes', key, 200), answers('tide', poorKey, 429)]);
    return {
      base,
      key,
      poorKey,
      standin,
      narrowKey: await newKey(control, org, 1),
      publishSlow: async () => {
        await managed((again) => publish(again, org, 'slow', slow.url));
        await answers('slow', key, 503);
        return async () => {
          up = true;
          await answers('slow', key, 200);
        };
      },
    };
  }

  return () => {
    if (!world) throw new Error('the world has not been built');
    return world;
  };
}

async function newOrg(control: Control, name: string, tokensPerMonth: number): Promise<string> {
  must(await control.setPlan(OPERATOR, { name, ...generousPlan(), tokensPerMonth }));
  return must(await control.createOrg(OPERATOR, { name, plan: name })).slug;
}

async function newKey(control: Control, org: string, requestsAtOnce = 100): Promise<string> {
  return must(
    await control.createKey(OPERATOR, { org, name: 'Test', requestsPerMinute: 6000, requestsAtOnce }),
  ).key;
}

async function publish(
  control: Control,
  org: string,
  name: string,
  url: string,
  kind: 'text' | 'vision' = 'text',
) {
  const settings = { mode: 'always_on' as const, contextTokens: CONTEXT_TOKENS, urls: [url] };
  must(await control.publishModel(OPERATOR, { org, name, kind, ...settings }));
}
