import { type CompletionRequest, isRefusal, type Passed, type Refusal } from '@tidegate/contracts';
import { dropStale, refuseAdmission } from '../auth/authenticate.ts';
import type { CatalogModel } from '../catalog/catalog.ts';
import type { Gateway } from '../gateway.ts';
import type { Admission } from '../limiter/admission.ts';
import { BUSY } from '../refusals.ts';
import type { Completion } from './completion.ts';

export interface RequestToAdmit {
  readonly model: CatalogModel;
  readonly request: CompletionRequest;
  /** Whether to reserve in the same call, because nothing needs preparing in between. */
  readonly reserve: boolean;
}

/**
 * Takes a slot of the key and one of the organization, within their limits of requests per minute.
 */
export async function admit(
  gateway: Gateway,
  { exchange, caller, held }: Completion,
  { model, request, reserve }: RequestToAdmit,
): Promise<Admission | Refusal> {
  if (gateway.activity.total > gateway.config.MAX_REQUESTS_IN_FLIGHT) return BUSY;
  const admission = await held.admit({
    keyId: caller.principal.keyId,
    modelId: model.modelId,
    contextTokens: model.contextTokens,
    hasImages: request.imageCount > 0,
    streamed: request.stream,
    reserve,
  });
  if (!isRefusal(admission)) return admission;
  return refuseAdmission(gateway, exchange, caller, admission);
}

/**
 * Reserves one request and the model's context length in tokens for the held admission. The key was
 * valid at admission, so a refusal here does not count toward the address's invalid keys.
 */
export async function reserve(gateway: Gateway, { caller, held }: Completion): Promise<Passed | Refusal> {
  const reserved = await held.reserve();
  if (isRefusal(reserved)) dropStale(gateway, caller.principal, reserved);
  return reserved;
}
