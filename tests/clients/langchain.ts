import { type AIMessageChunk, HumanMessage, type UsageMetadata } from '@langchain/core/messages';
import { ChatOpenAI, type ChatOpenAIFields } from '@langchain/openai';
import { type Answered, type Client, messagesOf, type Question } from './client.ts';

export const chatOf = (
  { base, key, model }: Pick<Question, 'base' | 'key' | 'model'>,
  fields: ChatOpenAIFields = {},
) => new ChatOpenAI({ model, apiKey: key, configuration: { baseURL: base }, ...fields });

const promptOf = (question: Question) =>
  messagesOf(question).map(({ content }) => new HumanMessage({ content }));

function answered({ text, usage_metadata, response_metadata }: AIMessageChunk): Answered {
  const usage = usage_metadata as UsageMetadata | undefined;
  return {
    text,
    finishReason: response_metadata.finish_reason as string | undefined,
    promptTokens: usage?.input_tokens,
    completionTokens: usage?.output_tokens,
  };
}

const optionsOf = ({ signal }: Question) => (signal ? { signal } : {});

export const langchain: Client = {
  name: 'LangChain',

  async whole(question) {
    return answered(await chatOf(question).invoke(promptOf(question), optionsOf(question)));
  },

  async stream(question, onPiece) {
    let all: AIMessageChunk | undefined;
    for await (const chunk of await chatOf(question).stream(promptOf(question), optionsOf(question))) {
      if (chunk.text) onPiece?.(chunk.text);
      all = all ? all.concat(chunk) : chunk;
    }
    if (!all) throw new Error('the stream was empty');
    return answered(all);
  },

  brokenOff: /terminated/,

  failed(thrown) {
    const { status, code, message } = thrown as { status?: number; code?: unknown; message: string };
    if (status === undefined) throw thrown;
    return { status, code, message };
  },
};

/**
 * For `onFailedAttempt`. Retries what LangChain retries, except when the answer says that it is
 * useless.
 */
export function heedShouldRetry(error: { name: string; status?: number; headers?: Headers }): void {
  const { name, status = 0, headers } = error;
  const useless = name === 'AbortError' || (status >= 400 && status < 429);
  if (useless || headers?.get('x-should-retry') === 'false') throw error;
}
