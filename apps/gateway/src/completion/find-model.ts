import { newRefusal, type Refusal } from '@tidegate/contracts';
import { mayCall, type Principal } from '../auth/principals.ts';
import type { Catalog, CatalogModel } from '../catalog/catalog.ts';
import { INTERNAL_ERROR } from '../refusals.ts';

/**
 * Finds the model of this name. A model that the key may not call gets the same refusal as one that
 * does not exist.
 */
export function findModel(catalog: Catalog, principal: Principal, name: string): CatalogModel | Refusal {
  const model = catalog.find(principal.orgId, name);
  if (model && mayCall(principal, model.modelId)) return model;
  return catalog.complete ? MODEL_NOT_FOUND : INTERNAL_ERROR;
}

/**
 * The refusal for a model that no longer exists, never did, or may not be called with this key. It
 * is the same for all, to the byte.
 */
export const MODEL_NOT_FOUND = newRefusal({
  code: 'model_not_found',
  message: 'The model does not exist, or this API key may not call it.',
});
