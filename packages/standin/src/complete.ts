import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { composeAnswer } from './answer.ts';
import type { Behaviour } from './behaviour.ts';
import { pauseFor, type StandinExchange, sendError, sendStream, sendWhole, stall } from './deliver.ts';
import { vllmError } from './errors.ts';
import { parseRequest, type StandinModel, type StandinRequest } from './request.ts';
import type { StatsKeeper } from './stats.ts';
import { streamSteps } from './stream.ts';
import { wholeBody } from './whole.ts';

const MAX_BODY_BYTES = 64 * 1024 * 1024;

/** Answers one completion request. Rejects when the caller goes away first. */
export async function answerCompletion(
  incoming: IncomingMessage,
  exchange: StandinExchange,
  model: StandinModel,
  defaults: Behaviour,
  stats: StatsKeeper,
): Promise<void> {
  const body = await readJson(incoming);
  if (body === undefined)
    return sendError(exchange, vllmError(400, 'the body is not valid JSON, or too large'));
  const read = parseRequest(body, model, defaults);
  if (!read.ok) return sendError(exchange, read.error);
  const { request } = read;
  const { stream, includeUsage, maxTokens } = request;
  stats.read(
    {
      members: Object.keys(body as object),
      headers: Object.keys(incoming.headers),
      stream,
      includeUsage,
      maxTokens,
    },
    request.images.length,
  );
  await answer(request, exchange, stats);
}

async function answer(request: StandinRequest, exchange: StandinExchange, stats: StatsKeeper): Promise<void> {
  const { behaviour } = request;
  if (behaviour['head-delay-ms']) await pauseFor(behaviour['head-delay-ms'], exchange);
  if (behaviour.silence) return stall(exchange);
  if (behaviour.status) return sendError(exchange, vllmError(behaviour.status, 'told to fail'));

  const composed = composeAnswer(request);
  const id = `chatcmpl-${randomUUID()}`;
  const createdS = Math.floor(Date.now() / 1_000);
  const answered = () => stats.answered(request.model, request.promptTokens, composed.tokens);
  if (request.stream) {
    return sendStream(exchange, streamSteps(request, composed, id, createdS), behaviour, answered);
  }
  const workMs = (behaviour['delay-ms'] ?? 0) + composed.tokens * (behaviour['token-ms'] ?? 0);
  if (workMs > 0) await pauseFor(workMs, exchange);
  if (behaviour.held) await exchange.released();
  return sendWhole(exchange, wholeBody(request, composed, id, createdS), behaviour, answered);
}

/** Undefined: the body is not JSON, or too large. */
async function readJson(incoming: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming) {
    bytes += (chunk as Buffer).length;
    if (bytes > MAX_BODY_BYTES) return undefined;
    chunks.push(chunk as Buffer);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    return undefined;
  }
}
