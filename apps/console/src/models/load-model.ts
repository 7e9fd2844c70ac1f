import type { ModelDetail } from '@tidegate/control';
import { cache } from 'react';
import { services } from '../server/services.ts';
import { read, requireOrg } from '../session/current.ts';

/**
 * The model that a page shows. Read once per request. Answers 404 if the organization has none with
 * this id.
 */
export const loadModel = cache(async (slug: string, id: string): Promise<ModelDetail> => {
  const { actor, org } = await requireOrg(slug);
  return read(await services().control.showModel(actor, { org: org.slug, id }));
});
