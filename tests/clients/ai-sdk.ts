import { createOpenAICompatible, type OpenAICompatibleProviderSettings } from '@ai-sdk/openai-compatible';
import {
  APICallError,
  generateText,
  type LanguageModel,
  type LanguageModelMiddleware,
  type ModelMessage,
  RetryError,
  streamText,
} from 'ai';
import type { Client, Question } from './client.ts';

// Otherwise it logs which options it omits for a provider.
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

export function modelOf(
  { base, key, model }: Pick<Question, 'base' | 'key' | 'model'>,
  settings: Partial<OpenAICompatibleProviderSettings> = {},
) {
  const tidegate = createOpenAICompatible({
    name: 'tidegate',
    baseURL: base,
    apiKey: key,
    includeUsage: true,
    ...settings,
  });
  return tidegate(model);
}

interface Prompt {
  readonly model: LanguageModel;
  readonly messages: ModelMessage[];
  readonly abortSignal?: AbortSignal;
}

const promptOf = (question: Question): Prompt => ({
  model: modelOf(question),
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: question.text },
        ...(question.image
          ? [{ type: 'image' as const, image: question.image.bytes, mediaType: question.image.type }]
          : []),
      ],
    },
  ],
  ...(question.signal && { abortSignal: question.signal }),
});

const answered = (
  text: string,
  finishReason: string,
  usage: { inputTokens: number | undefined; outputTokens: number | undefined },
) => ({ text, finishReason, promptTokens: usage.inputTokens, completionTokens: usage.outputTokens });

export const aiSdk: Client = {
  name: 'the AI SDK',

  async whole(question) {
    const { text, finishReason, usage } = await generateText(promptOf(question));
    return answered(text, finishReason, usage);
  },

  async stream(question, onPiece) {
    let failure: { readonly error: unknown } | undefined;
    const result = streamText({
      ...promptOf(question),
      onError: ({ error }) => {
        failure ??= { error };
      },
    });
    for await (const piece of result.textStream) onPiece?.(piece);
    if (failure) throw failure.error;
    return answered(await result.text, await result.finishReason, await result.usage);
  },

  brokenOff: /^Failed to process successful response$/,

  failed(thrown) {
    const error = RetryError.isInstance(thrown) ? thrown.lastError : thrown;
    if (!APICallError.isInstance(error)) throw thrown;
    const { statusCode, data, message } = error;
    return {
      status: statusCode,
      code: (data as { error?: { code?: unknown } } | undefined)?.error?.code,
      message,
    };
  },
};

function heed(error: unknown): never {
  if (APICallError.isInstance(error) && error.responseHeaders?.['x-should-retry'] === 'false') {
    Object.assign(error, { isRetryable: false });
  }
  throw error;
}

/**
 * The AI SDK decides by the status alone whether to retry. This middleware makes it follow the
 * answer's `x-should-retry`, too.
 */
export const heedShouldRetry: LanguageModelMiddleware = {
  specificationVersion: 'v3',
  wrapGenerate: ({ doGenerate }) => Promise.resolve(doGenerate()).catch(heed),
  wrapStream: ({ doStream }) => Promise.resolve(doStream()).catch(heed),
};
