import { type CompletionRequest, isRefusal } from '@tidegate/contracts';
import { authenticate, refuseUnadmitted } from '../auth/authenticate.ts';
import type { CatalogModel } from '../catalog/catalog.ts';
import { type Ending, endsEarly } from '../ending.ts';
import type { Gateway } from '../gateway.ts';
import { deliver } from '../http/deliver.ts';
import type { Exchange } from '../http/exchange.ts';
import { rateLimitHeaders } from '../limiter/admission.ts';
import { RequestTrace } from '../observe/trace.ts';
import { INTERNAL_ERROR } from '../refusals.ts';
import { admit, reserve } from './admit.ts';
import { callModel } from './call-model.ts';
import type { Completion } from './completion.ts';
import { checkCondition } from './condition.ts';
import { findModel, MODEL_NOT_FOUND } from './find-model.ts';
import { checkFit } from './fit.ts';
import { Holdings } from './holdings.ts';
import { prepare } from './prepare.ts';
import { receiveBody } from './receive-body.ts';

/*
 * Serves a completion to its last byte. The numbers are the steps in ARCHITECTURE.md, "The life of
 * a completion". Step 1 has checked the caller's address, and step 2 the route and method. Each
 * step returns what the next one needs, or an early end: a refusal, or an abort, for example
 * because the client hung up. An early end before the reservation leaves no trace. From the
 * reservation on the request is counted, and it is settled once.
 */
export async function complete(gateway: Gateway, exchange: Exchange): Promise<void> {
  const caller = await authenticate(gateway, exchange); // 3
  if (endsEarly(caller)) return deliver(exchange, caller);

  // Only callers with a valid key can cause spans.
  if (gateway.tracing) exchange.trace = new RequestTrace(gateway.tracing, exchange);
  const held = new Holdings(gateway, caller.principal.orgId, exchange.id, exchange.trace);
  exchange.held = held;
  // If a step throws, this ending stands: an internal fault must not keep slots or leave a
  // reservation open.
  let ending: Ending = INTERNAL_ERROR;
  try {
    ending = await answer(gateway, { exchange, caller, held });
    if (isRefusal(ending) && !held.admissionAsked)
      ending = await refuseUnadmitted(gateway, exchange, caller, ending);
  } finally {
    gateway.observer.enter(exchange, held.toSettle ? 'settle' : null);
    await held.release(ending, exchange.facts.firstChunkAtMs); // 14
    gateway.observer.enter(exchange, null);
  }
  deliver(exchange, ending);
  held.releaseAnswer(exchange.response.writableLength);
}

async function answer(gateway: Gateway, completion: Completion): Promise<Ending> {
  const { exchange, held } = completion;
  const body = await receiveBody(gateway, completion); // 4
  if (endsEarly(body)) return body;

  const request = await gateway.parser.parse(body, held.orgId, () => exchange.signal); // 5, 6
  if (endsEarly(request)) return isRefusal(request) ? request : exchange.abort(request.reason);
  exchange.facts.streamed = request.stream;

  const ending = await answerTo(gateway, completion, request, body.bytes);
  if (!held.counted) gateway.parser.refused(request, held.orgId);
  return ending;
}

async function answerTo(
  gateway: Gateway,
  completion: Completion,
  request: CompletionRequest,
  bodyBytes: number,
): Promise<Ending> {
  const { exchange, caller, held } = completion;
  const model = findModel(gateway.catalog, caller.principal, request.model); // 7
  if (endsEarly(model)) return model;
  exchange.facts.model = model;

  const fit = await checkFit(gateway, completion, { bodyBytes, request, model }); // 8
  if (endsEarly(fit)) return fit;

  held.takeModel(model.modelId);
  // Look the model up again: it may have fallen asleep before it was marked as in use.
  const current = gateway.catalog.get(model.modelId);
  return current ? serve(gateway, completion, request, current) : MODEL_NOT_FOUND;
}

async function serve(
  gateway: Gateway,
  completion: Completion,
  request: CompletionRequest,
  model: CatalogModel,
): Promise<Ending> {
  const { exchange, held } = completion;
  const readiness = checkCondition(model); // 9
  if (endsEarly(readiness)) return readiness;
  const { linkedImages } = request;
  const toPrepare = readiness === 'wake' || linkedImages.length > 0;

  if (exchange.aborted) return exchange.aborted;
  gateway.observer.enter(exchange, 'admit');
  const wanted = { request, model, reserve: !toPrepare };
  const admission = await admit(gateway, completion, wanted); // 10, 12
  if (endsEarly(admission)) return admission;

  const prepared = toPrepare
    ? await prepare(gateway, completion, { model, linkedImages }) // 11
    : { model, dataUrls: [] };
  if (endsEarly(prepared)) return prepared;

  if (exchange.aborted) return exchange.aborted;
  if (toPrepare) {
    gateway.observer.enter(exchange, 'reserve');
    const reserved = await reserve(gateway, completion); // 12
    if (endsEarly(reserved)) return reserved;
    if (exchange.aborted) return exchange.aborted;
  }

  held.count();
  exchange.headers = rateLimitHeaders(admission);
  gateway.observer.enter(exchange, 'answer');
  const input = {
    model: prepared.model,
    dataUrls: prepared.dataUrls,
    reservedTokens: model.contextTokens,
    memory: held,
  };
  return callModel(gateway, exchange, request, input); // 13
}
