import OpenAI from 'openai';
import { type Answered, type Client, messagesOf, type Question } from './client.ts';

const clientOf = ({ base, key }: Pick<Question, 'base' | 'key'>) =>
  new OpenAI({ baseURL: base, apiKey: key });

const bodyOf = (question: Question): OpenAI.ChatCompletionCreateParamsNonStreaming => ({
  model: question.model,
  messages: messagesOf(question),
});

const answered = (
  text: string,
  finishReason: string | null | undefined,
  usage: OpenAI.CompletionUsage | null | undefined,
): Answered => ({
  text,
  finishReason: finishReason ?? undefined,
  promptTokens: usage?.prompt_tokens,
  completionTokens: usage?.completion_tokens,
});

export const openai: Client = {
  name: 'openai',

  async whole(question) {
    const { signal } = question;
    const { choices, usage } = await clientOf(question).chat.completions.create(bodyOf(question), { signal });
    return answered(choices[0]?.message.content ?? '', choices[0]?.finish_reason, usage);
  },

  async stream(question, onPiece) {
    const { signal } = question;
    const stream = await clientOf(question).chat.completions.create(
      { ...bodyOf(question), stream: true, stream_options: { include_usage: true } },
      { signal },
    );
    const pieces: string[] = [];
    let finishReason: string | null | undefined;
    let usage: OpenAI.CompletionUsage | null | undefined;
    for await (const chunk of stream) {
      const piece = chunk.choices[0]?.delta.content;
      if (piece) {
        pieces.push(piece);
        onPiece?.(piece);
      }
      finishReason = chunk.choices[0]?.finish_reason ?? finishReason;
      usage = chunk.usage ?? usage;
    }
    return answered(pieces.join(''), finishReason, usage);
  },

  brokenOff: /terminated/,

  failed(thrown) {
    if (!(thrown instanceof OpenAI.APIError)) throw thrown;
    const { status, code, message } = thrown;
    return { status, code, message };
  },

  async models(base, key) {
    const names: string[] = [];
    for await (const { id } of clientOf({ base, key }).models.list()) names.push(id);
    return names;
  },
};
