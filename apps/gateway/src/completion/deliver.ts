import type { CompletionRequest } from '@tidegate/contracts';
import type { CatalogModel } from '../catalog/catalog.ts';
import type { Exchange } from '../http/exchange.ts';
import { refuse, sendJson } from '../http/respond.ts';
import type { CallOutcome } from '../upstream/outcome.ts';
import { FAILED } from '../upstream/upstream-call.ts';
import { usageJson } from '../upstream/usage.ts';
import { INTERNAL_ERROR, MODEL_UNAVAILABLE } from './refusals.ts';

export interface ToDeliver {
  readonly request: CompletionRequest;
  readonly model: CatalogModel;
  /** Unix time. */
  readonly nowMs: number;
}

/** What is left to send once the answer is settled: a whole answer, the tail of a stream, or a refusal. */
export function deliver(
  exchange: Exchange,
  outcome: CallOutcome,
  { request, model, nowMs }: ToDeliver,
): void {
  const { response } = exchange;
  switch (outcome.kind) {
    case 'whole':
      sendJson(exchange, 200, wholeAnswer(exchange, outcome, model.name, nowMs));
      break;
    case 'streamed':
      response.end(outcome.rewriter.tail(request.includeUsage));
      break;
    case 'refused':
      refuse(exchange, outcome.refusal);
      break;
    case 'unreached':
      refuse(exchange, outcome.connected ? FAILED : MODEL_UNAVAILABLE);
      break;
    case 'broken':
      endIncomplete(exchange);
      break;
    case 'aborted':
      if (outcome.reason !== 'client_closed') endIncomplete(exchange);
  }
}

/** Ends a stream without `[DONE]`; before a stream has begun, it is an error. */
export function endIncomplete(exchange: Exchange): void {
  if (exchange.response.headersSent) exchange.response.end();
  else refuse(exchange, INTERNAL_ERROR);
}

function wholeAnswer(
  { id }: Exchange,
  { content, finishReason, usage }: Extract<CallOutcome, { kind: 'whole' }>,
  model: string,
  nowMs: number,
): string {
  const message = `{"role":"assistant","content":${JSON.stringify(content)}}`;
  const choice = `{"index":0,"message":${message},"logprobs":null,"finish_reason":"${finishReason}"}`;
  return `{"id":"chatcmpl-${id}","object":"chat.completion","created":${Math.floor(nowMs / 1_000)},"model":${JSON.stringify(model)},"choices":[${choice}],"usage":${usageJson(usage)}}`;
}
