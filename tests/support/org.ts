import { randomBase62 } from '@tidegate/contracts';
import type { Stack } from '@tidegate/local';
import OpenAI from 'openai';
import { ctl } from './stack.ts';

export interface PlanLimits {
  readonly requestsMonth?: number;
  readonly requestsMinute?: number;
  readonly requestsAtOnce?: number;
  readonly tokensMonth?: number;
  readonly images?: boolean;
}

/** A new organization on a plan of its own; returns its slug. */
export async function newOrg(stack: Stack, limits: PlanLimits = {}): Promise<string> {
  const name = `Org ${randomBase62(8)}`;
  await ctl(
    stack,
    ...['plan', 'set', '--name', name, '--keys', '50'],
    ...['--requests-month', String(limits.requestsMonth ?? 1_000_000)],
    ...['--requests-minute', String(limits.requestsMinute ?? 100_000)],
    ...['--requests-at-once', String(limits.requestsAtOnce ?? 10_000)],
    ...['--tokens-month', String(limits.tokensMonth ?? 1_000_000_000)],
    ...['--images', String(limits.images ?? false)],
  );
  const { slug } = await ctl<{ slug: string }>(stack, 'org', 'create', '--name', name, '--plan', name);
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

export const newKey = (
  stack: Stack,
  org: string,
  { rpm = 6000, atOnce = 256, models }: KeyLimits = {},
): Promise<NewKey> =>
  ctl<NewKey>(
    stack,
    ...['key', 'create', '--org', org, '--name', 'Test', '--rpm', String(rpm), '--at-once', String(atOnce)],
    ...(models ? ['--models', models.join(',')] : []),
  );

/** Publishes an always-on model and waits until it runs. */
export async function publish(
  stack: Stack,
  org: string,
  url: string,
  { name = 'tide', kind = 'text', context = 1000 }: { name?: string; kind?: string; context?: number } = {},
): Promise<string> {
  await ctl(
    stack,
    ...['model', 'publish', '--org', org, '--name', name, '--kind', kind, '--mode', 'always_on'],
    ...['--context', String(context), '--url', url],
  );
  return name;
}

/** The official client, without its own retries unless asked. */
export const client = (baseURL: string, apiKey: string, maxRetries = 0): OpenAI =>
  new OpenAI({ baseURL, apiKey, maxRetries });

/** A plain call, for what no client shows: status and headers. */
export const post = (baseURL: string, apiKey: string, body: unknown): Promise<Response> =>
  fetch(`${baseURL}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

export const ask = (model: string, content: string, more: object = {}) => ({
  model,
  messages: [{ role: 'user' as const, content }],
  ...more,
});
