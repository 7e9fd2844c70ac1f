import type { Refusal } from '@tidegate/contracts';
import type { Principal } from '../auth/principals.ts';
import type { Catalog, CatalogModel } from '../catalog/catalog.ts';

const MAX_SHOWN_CHARACTERS = 100;

/** The model of this name, if the key may call it. One that it may not call is refused as one that does not exist. */
export function findModel(catalog: Catalog, principal: Principal, name: string): CatalogModel | Refusal {
  const model = catalog.find(principal.orgId, name);
  if (model && mayCall(principal, model)) return model;
  const shown = name.length <= MAX_SHOWN_CHARACTERS ? ` '${name}'` : '';
  return {
    code: 'model_not_found',
    message: `The model${shown} does not exist, or this API key may not call it.`,
  };
}

export const mayCall = ({ modelIds }: Principal, { modelId }: CatalogModel): boolean =>
  modelIds === null || modelIds.has(modelId);
