import type { CompletionRequest, Refusal } from '@tidegate/contracts';
import { refuseInvalidKey } from '../auth/authenticate.ts';
import type { Principal } from '../auth/principals.ts';
import type { CatalogModel } from '../catalog/catalog.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Held } from '../limiter/limiter.ts';
import { type Admission, rateLimitHeaders, readAdmission } from './admission.ts';
import type { Gateway } from './gateway.ts';
import { BUSY } from './refusals.ts';

export interface ToAdmit {
  readonly principal: Principal;
  readonly model: CatalogModel;
  readonly request: CompletionRequest;
  /** Reserve at once: nothing is to be prepared in between. */
  readonly reserve: boolean;
}

/** Takes a slot of the key and the organization, within their requests a minute. */
export async function admit(
  gateway: Gateway,
  exchange: Exchange,
  { principal, model, request, reserve }: ToAdmit,
): Promise<Refusal | null> {
  const { limiter, observer, config } = gateway;
  if (observer.requestsInFlight > config.MAX_REQUESTS_IN_FLIGHT) return BUSY;
  const held = limiter.hold(principal.orgId, exchange.id);
  exchange.held = held;
  const outcome = await limiter.admit(held, {
    keyId: principal.keyId,
    modelId: model.modelId,
    contextTokens: model.contextTokens,
    hasImages: request.imageCount > 0,
    streamed: request.stream,
    reserve,
  });
  const admission = readAdmission(outcome);
  if (admission !== 'admitted') exchange.held = null;
  else exchange.headers = rateLimitHeaders(outcome);
  return admission === 'admitted' ? null : refuseAdmission(gateway, exchange, admission);
}

/** Reserves one request and the model's context window for an admission already held. */
export async function reserve(gateway: Gateway, exchange: Exchange): Promise<Refusal | null> {
  const admission = readAdmission(await gateway.limiter.reserve(exchange.held as Held));
  return admission === 'admitted' ? null : refuseAdmission(gateway, exchange, admission);
}

/** Takes the admission back, as if it had never been. */
export async function withdraw({ limiter }: Gateway, exchange: Exchange): Promise<void> {
  const { held } = exchange;
  exchange.held = null;
  exchange.headers = [];
  if (held && exchange.aborted !== 'lease_lost') await limiter.withdraw(held);
}

/** The limiter knows better than what is cached here. */
export function refuseAdmission(
  gateway: Gateway,
  exchange: Exchange,
  admission: Exclude<Admission, 'admitted'>,
): Refusal | Promise<Refusal> {
  if (admission === 'invalid_key') {
    gateway.principals.dropKey(exchange.keyId ?? '');
    return refuseInvalidKey(gateway, exchange);
  }
  if (admission.code === 'plan_upgrade_required') gateway.principals.dropOrg(exchange.orgId ?? '');
  return admission;
}
