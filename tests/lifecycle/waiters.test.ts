import { request } from 'node:http';
import { afterAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@tidegate/testing';
import { controlOf, must, OPERATOR } from '../support/control.ts';
import { type Answer, COMPLETIONS, readAnswer } from '../support/http.ts';
import { modelFolder, type NotingModel } from '../support/noting-model.ts';
import { ask, newKey, newOrg } from '../support/org.ts';
import { useSharedStack } from '../support/stack.ts';

const WAITERS = 500;
const NAME = 'crowded';
/** For all waiters together, on a busy machine. */
const PATIENCE_MS = 180_000;
const TEST_TIMEOUT_MS = 600_000;

const stack = useSharedStack();
const folder = modelFolder();
afterAll(folder.remove);

/** Publishes a sleeping model in an organization of its own. Returns a key for each gateway. */
async function publish({ command, healthPath }: NotingModel): Promise<string[]> {
  const org = await newOrg(stack());
  const model = { org, name: NAME, kind: 'text', mode: 'wake_on_request', contextTokens: 1_000 } as const;
  must(await controlOf(stack()).publishModel(OPERATOR, { ...model, command, healthPath }));
  return Promise.all(stack().info.gateways.map(async () => (await newKey(stack(), org)).key));
}

/**
 * Sends one completion. Resolves once it has certainly arrived: the gateway has asked for its body.
 * So the next one arrives after it.
 */
function arrive(gateway: string, key: string, text: string): Promise<{ answer: Promise<Answer> }> {
  return new Promise((resolve, reject) => {
    const body = JSON.stringify(ask(NAME, text));
    const sent = request(new URL(COMPLETIONS, gateway), {
      method: 'POST',
      agent: false,
      headers: { authorization: `Bearer ${key}`, 'content-length': body.length, expect: '100-continue' },
    });
    const answer = new Promise<Answer>((answered, failed) => {
      sent.on('response', (message) => readAnswer(message).then(answered, failed));
      sent.on('error', failed);
    });
    answer.catch(reject);
    sent.on('continue', () => {
      sent.end(body);
      resolve({ answer });
    });
    sent.flushHeaders();
  });
}

/** Has callers arrive at both gateways, one after the other at each. Resolves when all wait. */
async function crowd(keys: readonly string[]): Promise<Promise<Answer>[]> {
  const { gateways } = stack().info;
  const answers: Promise<Answer>[] = [];
  await Promise.all(
    gateways.map(async (gateway, at) => {
      for (let i = 0; i < WAITERS / gateways.length; i++)
        answers.push((await arrive(gateway, keys[at] ?? '', `${at} ${i}`)).answer);
    }),
  );
  const tooSoon = Promise.race(answers).then(({ text }) => Promise.reject(new Error(text)));
  tooSoon.catch(() => {});
  await Promise.race([
    eventually(async () => (await waiting()) === WAITERS, { timeoutMs: PATIENCE_MS, intervalMs: 200 }),
    tooSoon,
  ]);
  return answers;
}

/** Requests that wait for the model, as all gateways count them. */
async function waiting(): Promise<number> {
  const services = stack().info.services.filter(({ name }) => name.startsWith('gateway'));
  const texts = await Promise.all(services.map(async ({ metrics }) => (await fetch(metrics)).text()));
  const counts = texts.flatMap((text) => [
    ...text.matchAll(/^tidegate_gateway_model_waiters\{.*model="crowded".*\} (\d+)$/gm),
  ]);
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

const outcomes = async (answers: readonly Promise<Answer>[]): Promise<Set<string>> =>
  new Set((await Promise.all(answers)).map(({ status, code }) => `${status} ${code ?? ''}`));

describe(`${WAITERS} requests that wait at two gateways for a model that is asleep`, () => {
  it(
    'cause one start, and are all answered, in the order of their arrival at each gateway',
    async () => {
      const model = folder.model('starts');
      const answers = await crowd(await publish(model));
      expect([model.starts(), model.calls()]).toEqual([1, []]);
      model.say('listen');
      const calls = await eventually(() => model.calls().length === WAITERS && model.calls(), {
        timeoutMs: PATIENCE_MS,
      });
      for (const at of stack().info.gateways.keys())
        expect(calls.filter((text) => text.startsWith(`${at} `))).toEqual(
          Array.from({ length: WAITERS / 2 }, (_, i) => `${at} ${i}`),
        );
      model.say('answer');
      expect([await outcomes(answers), model.starts()]).toEqual([new Set(['200 ']), 1]);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'are all told when the one start that they cause fails',
    async () => {
      const model = folder.model('fails');
      const answers = await crowd(await publish(model));
      model.say('fail');
      expect([await outcomes(answers), model.starts()]).toEqual([new Set(['503 model_unavailable']), 1]);
    },
    TEST_TIMEOUT_MS,
  );
});
