import { breakOff } from '../http/break-off.ts';
import type { Exchange } from '../http/exchange.ts';
import { refuse, sendJson } from '../http/respond.ts';
import type { CallOutcome } from '../upstream/outcome.ts';
import { FAILED } from '../upstream/upstream-call.ts';
import { INTERNAL_ERROR, MODEL_UNAVAILABLE } from './refusals.ts';

/** What is left to send once the answer is settled: a whole answer, the tail of a stream, or a refusal. */
export function deliver(exchange: Exchange, outcome: CallOutcome): void {
  switch (outcome.kind) {
    case 'whole':
      sendJson(exchange, 200, outcome.json);
      break;
    case 'streamed':
      exchange.response.end(outcome.tail);
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

/** Breaks a stream off before its `[DONE]`; before a stream has begun, it is an error. Only the first end counts. */
export function endIncomplete(exchange: Exchange): void {
  const { response, firstChunkAtMs } = exchange;
  if (response.writableEnded || exchange.brokenOff) return;
  if (firstChunkAtMs === null) {
    refuse(exchange, INTERNAL_ERROR);
    return;
  }
  exchange.brokenOff = true;
  breakOff(response);
}
