import { expect, it } from '@jest/globals';
import { HumanMessage, SystemMessage } from '@langchain/core/messages';
import { generateText, jsonSchema, Output, tool } from 'ai';
import OpenAI from 'openai';
import { ask } from '../support/org.ts';
import { modelOf } from './ai-sdk.ts';
import { chatOf } from './langchain.ts';
import { type Recorded, record } from './recorder.ts';
import type { World } from './world.ts';

interface At {
  readonly base: string;
  readonly key: string;
  readonly model: string;
}
type Use = (at: At) => Promise<unknown>;

const SCHEMA = { title: 'depth', type: 'object', properties: { metres: { type: 'number' } } } as const;
const JSON_ANSWER = 'Answer in JSON. [[say={"metres": 4000}]]';
const TOOL = {
  type: 'function',
  function: { name: 'sound', parameters: { type: 'object', properties: {} } },
};

const openai = ({ base, key }: At, options: ConstructorParameters<typeof OpenAI>[0] = {}) =>
  new OpenAI({ baseURL: base, apiKey: key, ...options }).chat.completions;

/** For each library, uses that add a field, and which field is refused. */
const REFUSED: readonly (readonly [string, string, Use])[] = [
  ['openai: store', 'store', (at) => openai(at).create(ask(at.model, 'x', { store: false }))],
  [
    'openai: parallel_tool_calls',
    'parallel_tool_calls',
    (at) => openai(at).create(ask(at.model, 'x', { parallel_tool_calls: false })),
  ],
  [
    'openai: a developer message',
    'role',
    (at) => openai(at).create({ model: at.model, messages: [{ role: 'developer', content: 'x' }] }),
  ],
  [
    'the AI SDK: Output.object',
    'response_format',
    (at) =>
      generateText({
        model: modelOf(at),
        prompt: 'x',
        output: Output.object({ schema: jsonSchema(SCHEMA) }),
      }),
  ],
  [
    'the AI SDK: tools',
    'tools',
    (at) =>
      generateText({
        model: modelOf(at),
        prompt: 'x',
        tools: { sound: tool({ inputSchema: jsonSchema(SCHEMA) }) },
      }),
  ],
  [
    'the AI SDK: presencePenalty',
    'presence_penalty',
    (at) => generateText({ model: modelOf(at), prompt: 'x', presencePenalty: 0 }),
  ],
  ['LangChain: presencePenalty', 'presence_penalty', (at) => chatOf(at, { presencePenalty: 0 }).invoke('x')],
  ['LangChain: logprobs', 'logprobs', (at) => chatOf(at, { logprobs: true }).invoke('x')],
  [
    'LangChain: withStructuredOutput',
    'response_format',
    (at) => chatOf(at).withStructuredOutput(SCHEMA).invoke('x'),
  ],
  [
    'LangChain: withStructuredOutput by functionCalling',
    'tools',
    (at) => chatOf(at).withStructuredOutput(SCHEMA, { method: 'functionCalling' }).invoke('x'),
  ],
  ['LangChain: bindTools', 'tools', (at) => chatOf(at).bindTools([TOOL]).invoke('x')],
  [
    "LangChain: a message's name",
    'name',
    (at) => chatOf(at).invoke([new HumanMessage({ content: 'x', name: 'Ann' })]),
  ],
  [
    'LangChain: a system message to a model whose name begins like that of a reasoning model',
    'role',
    (at) => chatOf({ ...at, model: 'gpt-5-tide' }).invoke([new SystemMessage('x'), new HumanMessage('x')]),
  ],
];

/** The settings that docs/clients.md recommends. */
const SETTINGS: readonly (readonly [string, Use])[] = [
  [
    'openai: a fetch that leaves fields out',
    (at) =>
      openai(at, {
        fetch: (url, init) =>
          fetch(url, {
            ...init,
            body: JSON.stringify({ ...JSON.parse(String(init?.body)), store: undefined }),
          }),
      }).create(ask(at.model, 'x', { store: false })),
  ],
  [
    'the AI SDK: transformRequestBody',
    async (at) => {
      const model = modelOf(at, { transformRequestBody: ({ response_format: _, ...body }) => body });
      const output = Output.object({ schema: jsonSchema(SCHEMA) });
      const answer = await generateText({ model, prompt: JSON_ANSWER, output });
      expect(answer.output).toEqual({ metres: 4000 });
    },
  ],
  [
    'LangChain: modelKwargs, for structured output',
    async (at) => {
      const chat = chatOf(at, { modelKwargs: { response_format: undefined } });
      const depth = await chat.withStructuredOutput(SCHEMA, { method: 'jsonMode' }).invoke(JSON_ANSWER);
      expect(depth).toEqual({ metres: 4000 });
    },
  ],
  [
    'LangChain: modelKwargs, for penalties',
    (at) => chatOf(at, { presencePenalty: 0, modelKwargs: { presence_penalty: undefined } }).invoke('x'),
  ],
];

/** Call it inside a describe block. */
export function describeFields(world: () => World): void {
  /** What a use sent, and how it failed. */
  async function observe(use: Use): Promise<{ calls: readonly Recorded[]; failure: unknown }> {
    const recorder = await record(world().base);
    try {
      const at = { base: recorder.base, key: world().key, model: 'tide' };
      const failure = await use(at).then(
        () => undefined,
        (error: unknown) => error,
      );
      return { calls: recorder.calls, failure };
    } finally {
      await recorder.close();
    }
  }

  it.each(REFUSED)(
    '%s is refused, without a second try, and the error names %s',
    async (_what, field, use) => {
      const { calls, failure } = await observe(use);
      expect(calls).toHaveLength(1);
      expect(calls[0]?.status).toBe(400);
      expect(calls[0]?.code).toMatch(/^(unsupported_parameter|invalid_request)$/);
      expect((failure as Error).message).toMatch(new RegExp(`\\b${field}\\b`));
    },
  );

  it.each(SETTINGS)('%s makes it work', async (_what, use) => {
    const { calls, failure } = await observe(use);
    expect(failure).toBeUndefined();
    expect(calls.map(({ status }) => status)).toEqual([200]);
  });
}
