import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ERRORS } from '@tidegate/contracts';
import { LIMITS } from '@tidegate/limits';
import { readDescription } from '@tidegate/testing';
import { type Harness, startHarness } from '../testing/harness.ts';

const { components } = await readDescription();

interface Body {
  readonly error: { readonly code: string };
}

interface Sent {
  readonly status: number;
  readonly body: unknown;
}

const MIB = 1024 * 1024;
const PIXEL = 'data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';
const asking = (model: string, content: unknown = 'Hi') => ({ model, messages: [{ role: 'user', content }] });

const read = async (answer: Response): Promise<Sent> => ({
  status: answer.status,
  body: await answer.json(),
});

describe("the description's examples of errors", () => {
  let gateway: Harness;
  beforeAll(async () => {
    gateway = await startHarness({
      upstream: (_request, reply) => reply.json({ error: 'broken' }, { status: 500 }),
    });
    await gateway.publish({ name: 'eyes', kind: 'vision' });
    await gateway.publish({ name: 'late', condition: 'CONDITION_STARTING' });
  });
  afterAll(() => gateway.stop());

  const complete = async (body: object, init?: RequestInit) => read(await gateway.complete(body, init));

  /** What the gateway sends when the limiter answers in this way. */
  async function admittedAs(admission: object): Promise<Sent> {
    const { answers } = gateway.limiterServer;
    const { admit } = answers;
    answers.admit = () => ({ admission });
    try {
      return await complete(asking('text'));
    } finally {
      answers.admit = admit;
    }
  }

  /** Requests that are refused as in the examples, by the examples' names. */
  const REFUSED: Readonly<Record<string, () => Promise<Sent>>> = {
    field: () => complete({ ...asking('text'), temperature: 3 }),
    key: () => complete(asking('text'), { headers: { authorization: 'Bearer wrong' } }),
    plan: () => {
      const key = gateway.addKey({ imagesAllowed: false });
      const image = [{ type: 'image_url', image_url: { url: PIXEL } }];
      return complete(asking('eyes', image), { headers: { authorization: `Bearer ${key}` } });
    },
    model: () => complete(asking('demo-txt')),
    method: async () => read(await fetch(`${gateway.url}/chat/completions`)),
    late: sendHalf,
    size: () => complete(asking('text', 'x'.repeat(2 * MIB))),
    rate: () => admittedAs({ rateLimited: { cause: 'CAUSE_KEY_REQUESTS_PER_MINUTE', limit: 60 } }),
    ours: () => admittedAs({}),
    upstream: () => complete(asking('text')),
    starting: () => complete(asking('late')),
  };

  const EXAMPLES = Object.values(components.responses).flatMap(({ content }) =>
    Object.values(content).flatMap(({ examples = {} }) => Object.entries(examples)),
  );

  it.each(EXAMPLES)('match what the gateway sends: %s', async (name, { value }) => {
    const { status, body } = (await REFUSED[name]?.()) ?? {};
    expect(body).toEqual(value);
    expect(ruleOf(value as Body)?.status).toBe(status);
  });

  it('exist for each status', () => {
    const statuses = EXAMPLES.map(([, { value }]) => ruleOf(value as Body)?.status);
    expect(new Set(statuses)).toEqual(new Set(Object.values(ERRORS).map(({ status }) => status)));
  });
});

const ruleOf = ({ error }: Body) => components['x-errors'][error.code];

/** Begins a body that never ends, at a gateway that allows less time for it than by default. */
async function sendHalf(): Promise<Sent> {
  const waitedS = 0.1;
  const gateway = await startHarness({ env: { BODY_TIMEOUT_MS: String(waitedS * 1_000) } });
  try {
    const headers = { authorization: `Bearer ${gateway.apiKey}`, 'content-length': 100 };
    const sending = request(`${gateway.url}/chat/completions`, { method: 'POST', headers });
    sending.write('{');
    const [answer] = (await once(sending, 'response')) as [IncomingMessage];
    const text = JSON.stringify(await json(answer));
    sending.destroy();
    const asByDefault = text.replace(`${waitedS} seconds`, `${LIMITS.bodyTimeoutMs / 1_000} seconds`);
    return { status: answer.statusCode ?? 0, body: JSON.parse(asByDefault) };
  } finally {
    await gateway.stop();
  }
}
