import type { Ending } from '../ending.ts';
import { INTERNAL_ERROR } from '../refusals.ts';
import { breakOff } from './break-off.ts';
import type { Exchange } from './exchange.ts';
import { sendJson, sendRefusal } from './respond.ts';

/** Sends what is left to send: a whole answer, the tail of a stream, or a refusal. */
export function deliver(exchange: Exchange, ending: Ending): void {
  switch (ending.kind) {
    case 'whole':
      exchange.facts.usage = ending.usage;
      sendJson(exchange, 200, ending.json);
      break;
    case 'streamed':
      exchange.facts.usage = ending.usage;
      exchange.response.end(ending.tail);
      break;
    case 'refused':
      // A client that hung up meanwhile does not count as refused.
      if (exchange.aborted?.reason !== 'client_closed') sendRefusal(exchange, ending);
      break;
    case 'broken':
      exchange.facts.brokenBy = ending.errorCode;
      endIncomplete(exchange);
      break;
    case 'aborted':
      if (ending.reason !== 'client_closed') endIncomplete(exchange);
  }
}

/**
 * Breaks off a stream before its `[DONE]`. If the stream has not begun, answers with an error
 * instead.
 */
export function endIncomplete(exchange: Exchange): void {
  const { response, facts } = exchange;
  if (response.writableEnded || exchange.brokenOff) return;
  if (facts.firstChunkAtMs === null) {
    sendRefusal(exchange, INTERNAL_ERROR);
    return;
  }
  exchange.brokenOff = true;
  breakOff(response);
}
