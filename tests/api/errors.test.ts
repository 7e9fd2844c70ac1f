import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomBase62 } from '@tidegate/contracts';
import type { Actor } from '@tidegate/control';
import { type Standin, startStandin } from '@tidegate/standin';
import { eventually } from '@tidegate/testing';
import type OpenAI from 'openai';
import { controlOf, must, OPERATOR, sessionOf } from '../support/control.ts';
import { ask, client, failure, newKey, newOrg, publish } from '../support/org.ts';
import { useSharedStack } from '../support/stack.ts';

const MIB = 1024 * 1024;
const PIXEL = 'data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';
const withImage = (model: string) => ({
  model,
  messages: [{ role: 'user' as const, content: [{ type: 'image_url' as const, image_url: { url: PIXEL } }] }],
});

/** Each code is a requirement. `also` lists the ids of others. */
type Thrown = readonly [
  name: string,
  status: number,
  code: string,
  call: () => unknown,
  ...also: readonly string[],
];

describe('errors, as the official openai package throws them:', () => {
  const stack = useSharedStack();
  let standin: Standin;
  let slow: Standin;
  let org: string;
  let api: OpenAI;
  /** From an address of its own: each may send 20 requests a minute with an invalid key. */
  const clientOf = (key: string) =>
    client(stack().info.gateway, key).withOptions({ defaultHeaders: { 'x-forwarded-for': '203.0.113.14' } });

  beforeAll(async () => {
    standin = await startStandin({ names: ['tide', 'eyes', 'stopped'], contextTokens: 1000 });
    slow = await startStandin({ names: ['slow'], startupMs: 3_600_000 });
    org = await newOrg(stack());
    await publish(stack(), org, standin.url);
    await publish(stack(), org, standin.url, { name: 'eyes', kind: 'vision' });
    await publish(stack(), org, slow.url, { name: 'slow' });
    await publish(stack(), org, standin.url, { name: 'stopped' });
    must(await controlOf(stack()).stopModel(OPERATOR, { org, name: 'stopped' }));
    api = clientOf((await newKey(stack(), org)).key);
    await eventually(() => api.chat.completions.create(ask('tide', 'Are you there?')));
    await eventually(() => api.chat.completions.create(ask('eyes', 'And you?')));
    await eventually(
      async () =>
        (await failure(complete(ask('stopped', 'x')) as Promise<unknown>))[2] === 'model_unavailable',
    );
  });

  afterAll(async () => {
    await standin?.close();
    await slow?.close();
  });

  const complete = (body: object) => api.chat.completions.create(body as never);

  const THROWN: readonly Thrown[] = [
    ['BadRequestError', 400, 'invalid_request', () => complete(ask('tide', 'x', { temperature: 3 }))],
    ['BadRequestError', 400, 'invalid_request', () => complete({ model: 'tide', messages: [] })],
    ['BadRequestError', 400, 'unsupported_parameter', () => complete(ask('tide', 'x', { tools: [] }))],
    ['BadRequestError', 400, 'model_text_only', () => complete(withImage('tide'))],
    [
      'BadRequestError',
      400,
      'model_refused',
      () => complete(ask('tide', 'x', { max_tokens: 1001 })),
      '[message.context]',
    ],
    [
      'BadRequestError',
      400,
      'model_refused',
      () => complete(ask('tide', 'sea '.repeat(900), { max_tokens: 500 })),
      '[message.context]',
    ],
    ['PermissionDeniedError', 403, 'plan_upgrade_required', () => complete(withImage('eyes'))],
    ['NotFoundError', 404, 'model_not_found', () => complete(ask('nothing', 'x')), '[request.model.type]'],
    ['NotFoundError', 404, 'not_found', () => api.get('/nothing')],
    ['APIError', 405, 'method_not_allowed', () => api.get('/chat/completions')],
    ['APIError', 413, 'request_too_large', () => complete(ask('tide', 'x'.repeat(2 * MIB)))],
    ['InternalServerError', 502, 'upstream_error', () => complete(ask('tide', '[[status=500]]'))],
    ['InternalServerError', 503, 'model_starting', () => complete(ask('slow', 'x'))],
    ['InternalServerError', 503, 'model_unavailable', () => complete(ask('stopped', 'x'))],
  ];
  it.each(
    THROWN.map(([name, status, code, call, ...also]) => {
      const title = [`${name} ${status} ${code}`, `[errors.${code}]`, ...also].join(' ');
      return [title, [name, status, code], call] as const;
    }),
  )('%s', async (_title, thrown, call) => {
    expect(await failure(call() as Promise<unknown>)).toEqual(thrown);
  });

  it('AuthenticationError 401 invalid_api_key', async () => {
    const { key } = await newKey(stack(), org);
    for (const wrong of ['sk-wrong', `${key.slice(0, -1)}${key.endsWith('a') ? 'b' : 'a'}`]) {
      expect(await failure(clientOf(wrong).models.list())).toEqual([
        'AuthenticationError',
        401,
        'invalid_api_key',
      ]);
    }
  });

  it('AuthenticationError 401 invalid_api_key, from the request after the key was revoked', async () => {
    const { id, key } = await newKey(stack(), org);
    const revoked = clientOf(key);
    await revoked.models.list();
    must(await controlOf(stack()).revokeKey(OPERATOR, { org, id }));
    expect(await failure(revoked.models.list())).toEqual(['AuthenticationError', 401, 'invalid_api_key']);
    expect(await failure(revoked.chat.completions.create(ask('tide', 'x')))).toEqual([
      'AuthenticationError',
      401,
      'invalid_api_key',
    ]);
  });

  it.each([
    ['was removed', (email: string) => controlOf(stack()).removeMember(OPERATOR, { org, email })],
    [
      'deleted the account',
      (email: string, owner: Actor) => controlOf(stack()).deleteAccount(owner, { email }),
    ],
    ['signed out', (_email: string, owner: Actor) => controlOf(stack()).endPageKeys(owner)],
    ['got a new password', (email: string) => controlOf(stack()).setPassword(OPERATOR, { email })],
    [
      'has no second factor, which the organization now requires,',
      async () => {
        const required = await controlOf(stack()).requireTwoFactor(OPERATOR, { org, required: true });
        must(await controlOf(stack()).requireTwoFactor(OPERATOR, { org, required: false }));
        return required;
      },
    ],
  ])(
    'AuthenticationError 401 invalid_api_key, from the request after the owner whose page made the key %s',
    async (_how, go) => {
      const control = controlOf(stack());
      const owner = async () => {
        const email = `${randomBase62(12).toLowerCase()}@example.com`;
        return must(await control.addMember(OPERATOR, { org, email, role: 'owner' }));
      };
      await owner();
      const { userId, email } = await owner();
      const actor = { kind: 'user', userId, email } as const;
      const session = await sessionOf(stack(), userId);
      const page = clientOf(must(await control.createPageKey(actor, { org, session })).key);
      await page.models.list();
      must<unknown>(await go(email, actor));
      expect(await failure(page.models.list())).toEqual(['AuthenticationError', 401, 'invalid_api_key']);
    },
  );

  it('RateLimitError 429 rate_limit_exceeded [errors.rate_limit_exceeded]', async () => {
    const limited = clientOf((await newKey(stack(), org, { rpm: 1 })).key);
    await limited.models.list();
    expect(await failure(limited.models.list())).toEqual(['RateLimitError', 429, 'rate_limit_exceeded']);
  });

  it('RateLimitError 429 quota_exceeded, which the client does not retry [plan.reservation.refused] [retry.no]', async () => {
    const poor = await newOrg(stack(), { tokensPerMonth: 999 });
    await publish(stack(), poor, standin.url);
    const { key } = await newKey(stack(), poor);
    const retrying = clientOf(key).withOptions({ maxRetries: 2 });
    await eventually(async () => {
      const [, status] = await failure(retrying.chat.completions.create(ask('tide', 'x')));
      return status === 429;
    });
    const before = standin.stats().calls;
    expect(await failure(retrying.chat.completions.create(ask('tide', 'x')))).toEqual([
      'RateLimitError',
      429,
      'quota_exceeded',
    ]);
    expect(standin.stats().calls).toBe(before);
  });

  it('a model of another organization and one that does not exist are the same to the byte [auth.reach] [service.reach]', async () => {
    const stranger = await newOrg(stack());
    const { key } = await newKey(stack(), stranger);
    const [foreign, none] = await Promise.all(
      ['tide', 'edit'].map(async (model) => {
        const answer = await fetch(`${stack().info.gateway}/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}` },
          body: JSON.stringify(ask(model, 'x')),
        });
        return `${answer.status} ${(await answer.text()).replaceAll(model, 'NAME')}`;
      }),
    );
    expect(foreign).toContain('404');
    expect(foreign).toBe(none);
  });
});
