import type { Refusal } from '@tidegate/contracts';
import { authenticate } from '../auth/authenticate.ts';
import type { Principal } from '../auth/principals.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { rateLimitHeaders, readAdmission } from '../completion/admission.ts';
import { refuseAdmission } from '../completion/admit.ts';
import { mayCall } from '../completion/find-model.ts';
import type { Gateway } from '../completion/gateway.ts';
import { INTERNAL_ERROR, isRefusal } from '../completion/refusals.ts';
import type { Exchange } from '../http/exchange.ts';
import { refuse, sendJson } from '../http/respond.ts';

/** Answers `GET /models`. It counts toward the requests a minute, and toward nothing else. */
export async function listModels(gateway: Gateway, exchange: Exchange): Promise<void> {
  const list = await answer(gateway, exchange);
  if (typeof list === 'string') sendJson(exchange, 200, list);
  else refuse(exchange, list);
}

async function answer(gateway: Gateway, exchange: Exchange): Promise<string | Refusal> {
  const caller = await authenticate(gateway, exchange);
  if (isRefusal(caller)) return caller;
  if (!gateway.catalog.known) return INTERNAL_ERROR;
  const { principal } = caller;
  const outcome = await gateway.limiter.countRequest(principal.orgId, principal.keyId);
  const admission = readAdmission(outcome);
  if (admission !== 'admitted') return refuseAdmission(gateway, exchange, admission);
  exchange.headers = rateLimitHeaders(outcome);
  return modelList(gateway.catalog, principal);
}

/** The list wrapper and its entries (docs/conformance.md, "Model list entry"). */
function modelList(catalog: Catalog, principal: Principal): string {
  const data = catalog
    .published(principal.orgId)
    .filter((model) => mayCall(principal, model))
    .map(({ name, publishedAtMs }) => ({
      id: name,
      object: 'model',
      created: Math.floor(publishedAtMs / 1_000),
      owned_by: 'organization',
    }));
  return JSON.stringify({ object: 'list', data });
}
