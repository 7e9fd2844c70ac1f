import type { CompletionRequest, Refusal } from '@tidegate/contracts';
import { LIMITS } from '@tidegate/limits';
import { type CatalogModel, isVision } from '../catalog/catalog.ts';

export interface ToFit {
  readonly bodyBytes: number;
  readonly request: Pick<CompletionRequest, 'imageCount' | 'maxTokens' | 'maxTokensFrom'>;
  readonly model: CatalogModel;
  /** By the organization's plan, asked only when it matters. Null: cannot be told now. */
  readonly imagesAllowed: () => Promise<boolean | Refusal>;
}

/** Whether the request suits the model and the plan: size by kind, images by kind, images by plan, tokens by context. */
export async function checkFit({ bodyBytes, request, model, imagesAllowed }: ToFit): Promise<Refusal | null> {
  const vision = isVision(model);
  if (!vision && bodyBytes > LIMITS.textBodyMaxBytes) {
    return { code: 'request_too_large', message: 'The body for a text model must be at most 2 MiB.' };
  }
  if (request.imageCount > 0) {
    if (!vision) {
      return { code: 'model_text_only', message: `The model '${model.name}' takes text only, no images.` };
    }
    const allowed = await imagesAllowed();
    if (allowed === false) return PLAN_UPGRADE_REQUIRED;
    if (allowed !== true) return allowed;
  }
  const { maxTokens, maxTokensFrom } = request;
  if (maxTokens > model.contextTokens) {
    const asked = `${maxTokensFrom ?? 'max_tokens'} is ${maxTokens}${maxTokensFrom ? '' : ' when not sent'}`;
    return {
      code: 'model_refused',
      message: `${asked}, but the context length of the model is ${model.contextTokens} tokens.`,
    };
  }
  return null;
}

export const PLAN_UPGRADE_REQUIRED: Refusal = {
  code: 'plan_upgrade_required',
  message: "The organization's plan does not include images. Upgrade it, or send text only.",
};
