import type { CompletionRequest, Refusal } from '@tidegate/contracts';
import { authenticate, type Caller, refuseInvalidKey } from '../auth/authenticate.ts';
import type { CatalogModel } from '../catalog/catalog.ts';
import type { Exchange } from '../http/exchange.ts';
import { refuse } from '../http/respond.ts';
import { admit, reserve, withdraw } from './admit.ts';
import { callModel } from './call-model.ts';
import { checkCondition } from './condition.ts';
import { deliver, endIncomplete } from './deliver.ts';
import { findModel } from './find-model.ts';
import { checkFit } from './fit.ts';
import type { Gateway } from './gateway.ts';
import { type Prepared, prepare } from './prepare.ts';
import { forgetBody, receiveBody, releaseLargeBody } from './receive-body.ts';
import { INTERNAL_ERROR, isRefusal } from './refusals.ts';
import { settle } from './settle.ts';

/*
 * A completion, from a request whose address is not blocked (step 1) and whose route and method
 * are right (step 2) to its last byte. Each step may refuse. Until the reservation a refusal leaves
 * no trace; from there on the request is counted and settled once.
 */
export async function complete(gateway: Gateway, exchange: Exchange): Promise<void> {
  let refusal: Refusal | null;
  try {
    refusal = await answer(gateway, exchange);
  } catch (error) {
    await rescue(gateway, exchange);
    throw error;
  } finally {
    forgetBody(gateway, exchange);
  }
  if (exchange.largeBody) await releaseLargeBody(gateway, exchange);
  if (exchange.aborted === 'client_closed') return;
  if (exchange.aborted) endIncomplete(exchange);
  else if (refusal) refuse(exchange, refusal);
}

async function answer(gateway: Gateway, exchange: Exchange): Promise<Refusal | null> {
  const caller = await authenticate(gateway, exchange); // 3
  if (isRefusal(caller)) return caller;

  const body = await receiveBody(gateway, exchange, caller.principal); // 4
  if (isRefusal(body)) return body;

  const bodyBytes = body.length;
  const parsed = await gateway.parser.parse(body, caller.principal.orgId); // 5, 6
  if (!parsed.ok) return parsed.refusal;
  const { request } = parsed;
  exchange.streamed = request.stream;

  if (!gateway.catalog.known) return INTERNAL_ERROR;
  const model = findModel(gateway.catalog, caller.principal, request.model); // 7
  if (isRefusal(model)) return model;
  exchange.modelId = model.modelId;

  const imagesAllowed = () => areImagesAllowed(gateway, exchange, caller);
  const unfit = await checkFit({ bodyBytes, request, model, imagesAllowed }); // 8
  if (unfit) return unfit;

  gateway.activity.enter(model.modelId);
  gateway.observer.enter();
  try {
    return await serve(gateway, exchange, caller, request, model);
  } finally {
    gateway.observer.leave();
    gateway.activity.leave(model.modelId);
  }
}

async function serve(
  gateway: Gateway,
  exchange: Exchange,
  { principal }: Caller,
  request: CompletionRequest,
  found: CatalogModel,
): Promise<Refusal | null> {
  const model = gateway.catalog.get(found.modelId) ?? found;
  const condition = checkCondition(model); // 9
  if (typeof condition !== 'string') return condition;
  const toPrepare = condition === 'wake' || request.linkedImages.length > 0;

  if (exchange.aborted) return null;
  const unadmitted = await admit(gateway, exchange, { principal, model, request, reserve: !toPrepare }); // 10, 12
  if (unadmitted) return unadmitted;

  let prepared: Prepared | Refusal = { model, dataUrls: [] };
  if (toPrepare) {
    prepared = await prepare(gateway, exchange, request, model, condition === 'wake'); // 11
    const refusal = isRefusal(prepared) ? prepared : await reserveUnlessAborted(gateway, exchange); // 12
    if (refusal) return takeBack(gateway, exchange, refusal);
  }
  if (exchange.aborted) return takeBack(gateway, exchange, null);

  exchange.reservedAtMs = performance.now();
  const outcome = await callModel(gateway, exchange, request, prepared as Prepared); // 13
  gateway.observer.upstreamEnded(outcome);
  await settle(gateway, exchange, outcome); // 14
  deliver(exchange, outcome);
  return null;
}

const reserveUnlessAborted = (gateway: Gateway, exchange: Exchange): Promise<Refusal | null> | null =>
  exchange.aborted ? null : reserve(gateway, exchange);

async function takeBack(
  gateway: Gateway,
  exchange: Exchange,
  refusal: Refusal | null,
): Promise<Refusal | null> {
  await withdraw(gateway, exchange);
  return refusal;
}

/** A fault of ours must not keep slots or leave a reservation open. */
async function rescue(gateway: Gateway, exchange: Exchange): Promise<void> {
  const fault = { kind: 'refused', refusal: INTERNAL_ERROR } as const;
  if (exchange.reservedAtMs === null) await withdraw(gateway, exchange);
  else await settle(gateway, exchange, fault);
  await releaseLargeBody(gateway, exchange);
}

/** What is cached of a plan may refuse nothing: it is asked for once more. */
async function areImagesAllowed(
  gateway: Gateway,
  exchange: Exchange,
  caller: Caller,
): Promise<boolean | Refusal> {
  if (caller.principal.imagesAllowed) return true;
  const principal = await gateway.principals.refresh(caller.key);
  if (principal === null) return INTERNAL_ERROR;
  if (principal === 'invalid') return refuseInvalidKey(gateway, exchange);
  return principal.imagesAllowed;
}
