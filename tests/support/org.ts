import { randomBase62 } from '@tidegate/contracts';
import type { PlanLimitValues } from '@tidegate/limits';
import { generousPlan } from '@tidegate/testing';
import OpenAI from 'openai';
import { controlOf, must, OPERATOR, type Reachable } from './control.ts';

/** Creates an organization on its own plan. Returns its slug. */
export async function newOrg(
  stack: Reachable,
  limits: Partial<PlanLimitValues> & { readonly images?: boolean } = {},
): Promise<string> {
  const name = `Org ${randomBase62(8)}`;
  const control = controlOf(stack);
  must(await control.setPlan(OPERATOR, { ...generousPlan(), images: false, ...limits, name }));
  const { slug } = must(await control.createOrg(OPERATOR, { name, plan: name }));
  return slug;
}

export interface KeyLimits {
  readonly rpm?: number;
  readonly atOnce?: number;
  readonly models?: readonly string[];
}

export interface NewKey {
  readonly id: string;
  readonly key: string;
}

export async function newKey(
  stack: Reachable,
  org: string,
  { rpm = 6000, atOnce = 256, models }: KeyLimits = {},
): Promise<NewKey> {
  const limits = { requestsPerMinute: rpm, requestsAtOnce: atOnce };
  const chosen = models ? { models: [...models] } : {};
  return must(await controlOf(stack).createKey(OPERATOR, { org, name: 'Test', ...limits, ...chosen }));
}

/** Publishes an always-on model, and tells the gateways. It may still be starting afterwards. */
export async function publish(
  stack: Reachable,
  org: string,
  url: string,
  {
    name = 'tide',
    kind = 'text',
    context = 1000,
  }: { name?: string; kind?: 'text' | 'vision'; context?: number } = {},
): Promise<string> {
  const model = { org, name, kind, mode: 'always_on', contextTokens: context } as const;
  must(await controlOf(stack).publishModel(OPERATOR, { ...model, urls: [url] }));
  return name;
}

/** The official client, without retries. */
export const client = (baseURL: string, apiKey: string): OpenAI =>
  new OpenAI({ baseURL, apiKey, maxRetries: 0 });

/** A plain call, for tests of the status and headers that no client shows. */
export const post = (baseURL: string, apiKey: string, body: unknown, headers = {}): Promise<Response> =>
  fetch(`${baseURL}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

export const ask = (model: string, content: string, more: object = {}) => ({
  model,
  messages: [{ role: 'user' as const, content }],
  ...more,
});

/** What the official client throws: its class, the status and our code. */
export async function failure(call: Promise<unknown>): Promise<[string, number | undefined, unknown]> {
  try {
    await call;
  } catch (error) {
    if (error instanceof OpenAI.APIError) return [error.constructor.name, error.status, error.code];
    throw error;
  }
  throw new Error('it was answered');
}
