import {
  type CompletionRequest,
  isRefusal,
  newRefusal,
  PASSED,
  type Passed,
  type Refusal,
} from '@tidegate/contracts';
import { LIMITS } from '@tidegate/limits';
import { type AuthDeps, refuseStaleKey } from '../auth/authenticate.ts';
import { type CatalogModel, isVision } from '../catalog/catalog.ts';
import { checkInlineImages } from '../images/inline.ts';
import { PLAN_UPGRADE_REQUIRED } from '../refusals.ts';
import type { Completion } from './completion.ts';

export interface FitInput {
  readonly bodyBytes: number;
  readonly request: CompletionRequest;
  readonly model: CatalogModel;
}

/**
 * Checks that the request suits the model and the plan: size by kind, images by kind, images by
 * plan, images by their bytes, tokens by context length.
 */
export async function checkFit(
  auth: AuthDeps,
  completion: Completion,
  { bodyBytes, request, model }: FitInput,
): Promise<Passed | Refusal> {
  const vision = isVision(model);
  if (!vision && bodyBytes > LIMITS.textBodyMaxBytes) return TOO_LARGE_FOR_TEXT;
  if (request.imageCount > 0) {
    if (!vision) return textOnly(model);
    const plan = await checkPlan(auth, completion);
    if (isRefusal(plan)) return plan;
    const images = checkInlineImages(request.inlineImages);
    if (isRefusal(images)) return images;
  }
  return request.maxTokens > model.contextTokens ? beyondContext(request, model) : PASSED;
}

/** Never refuses on a cached plan: asks for the current one first. */
async function checkPlan(auth: AuthDeps, { exchange, caller }: Completion): Promise<Passed | Refusal> {
  if (caller.principal.imagesAllowed) return PASSED;
  const principal = await auth.principals.check(caller.key);
  if (isRefusal(principal)) return refuseStaleKey(auth, exchange, caller, principal);
  return principal.imagesAllowed ? PASSED : PLAN_UPGRADE_REQUIRED;
}

const TOO_LARGE_FOR_TEXT = newRefusal({
  code: 'request_too_large',
  message: 'The body for a text model must be at most 2 MiB.',
});

const textOnly = ({ name }: CatalogModel): Refusal =>
  newRefusal({ code: 'model_text_only', message: `The model '${name}' takes text only, no images.` });

function beyondContext(
  { maxTokens, maxTokensFrom }: CompletionRequest,
  { contextTokens }: CatalogModel,
): Refusal {
  const asked = maxTokensFrom ? `${maxTokensFrom} is ${maxTokens}` : `max_tokens defaults to ${maxTokens}`;
  return newRefusal({
    code: 'model_refused',
    message: `${asked}, but the context length of the model is ${contextTokens} tokens.`,
  });
}
