import { startUpstream, type Upstream, type UpstreamReply } from '@tidegate/testing';
import type { Canaries } from './canaries.ts';

const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

/**
 * Starts a model that puts a canary into every answer, valid or not. The prompt's `do:…` selects
 * the kind of answer.
 */
export function startCanaryModel(canaries: Canaries): Promise<Upstream> {
  const error = (place: string) => ({
    error: { message: canaries.at(place), type: canaries.at(`${place}type`) },
  });
  const chunk = (place: string, finish: string | null = null) => ({
    id: 'x',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'x',
    choices: [{ index: 0, delta: { content: canaries.at(place) }, finish_reason: finish }],
  });
  const ways: Record<string, (reply: UpstreamReply) => Promise<void> | void> = {
    whole: (reply) =>
      reply.json({
        id: 'x',
        object: 'chat.completion',
        created: 1,
        model: 'x',
        choices: [
          { index: 0, message: { role: 'assistant', content: canaries.at('Answer') }, finish_reason: 'stop' },
        ],
        usage: USAGE,
      }),
    stream: async (reply) => {
      await reply.event(chunk('Chunk'));
      await reply.event({ ...chunk('LastChunk', 'stop'), usage: USAGE });
      await reply.done();
    },
    hang: async (reply) => {
      await reply.event(chunk('HungChunk'));
      await reply.closed;
    },
    refuse: (reply) => reply.json(error('Refusal'), { status: 400 }),
    fail: (reply) => reply.json(error('Failure'), { status: 500 }),
    page: (reply) => {
      reply.start({ headers: { 'content-type': canaries.at('Type') } });
      reply.write(`<h1>${canaries.at('Page')}</h1>`);
      reply.end();
    },
    garbage: async (reply) => {
      await reply.event(chunk('BeforeGarbage'));
      await reply.event(`{"${canaries.at('Garbage')}`);
      reply.end();
    },
    inband: async (reply) => {
      await reply.event(chunk('BeforeError'));
      await reply.event(error('InBand'));
      await reply.done();
    },
    reset: async (reply) => {
      await reply.event(chunk('BeforeReset'));
      reply.reset();
    },
  };
  return startUpstream((request, reply) => {
    if (request.method === 'GET') return reply.json({});
    const [, way = ''] = /do:(\w+)/.exec(request.body) ?? [];
    return (ways[way] ?? ways.whole)?.(reply);
  });
}

/** The kinds of answer that a prompt can select. */
export const WAYS = ['whole', 'stream', 'refuse', 'fail', 'page', 'garbage', 'inband', 'reset'] as const;
