import { isRefusal, type Refusal } from '@tidegate/contracts';
import { authenticate, refuseAdmission } from '../auth/authenticate.ts';
import { mayCall, type Principal } from '../auth/principals.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Gateway } from '../gateway.ts';
import type { Exchange } from '../http/exchange.ts';
import { sendJson, sendRefusal } from '../http/respond.ts';
import { rateLimitHeaders } from '../limiter/admission.ts';
import { INTERNAL_ERROR } from '../refusals.ts';

/**
 * Answers `GET /models`. The request counts toward the limits of requests per minute and nothing
 * else.
 */
export async function sendModelList(gateway: Gateway, exchange: Exchange): Promise<void> {
  const list = await answer(gateway, exchange);
  if (isRefusal(list)) sendRefusal(exchange, list);
  else sendJson(exchange, 200, list);
}

async function answer(gateway: Gateway, exchange: Exchange): Promise<string | Refusal> {
  const caller = await authenticate(gateway, exchange);
  if (isRefusal(caller)) return caller;
  if (!gateway.catalog.complete) return INTERNAL_ERROR;
  const { principal } = caller;
  const admission = await gateway.limiter.countRequest(principal.orgId, principal.keyId);
  if (isRefusal(admission)) return refuseAdmission(gateway, exchange, caller, admission);
  exchange.headers = rateLimitHeaders(admission);
  return modelList(gateway.catalog, principal);
}

/** The list and its entries (docs/conformance.md, "Model list entry"). */
function modelList(catalog: Catalog, principal: Principal): string {
  const data = catalog
    .published(principal.orgId)
    .filter((model) => mayCall(principal, model.modelId))
    .map(({ name, publishedAtMs }) => ({
      id: name,
      object: 'model',
      created: Math.floor(publishedAtMs / 1_000),
      owned_by: 'organization',
    }));
  return JSON.stringify({ object: 'list', data });
}
