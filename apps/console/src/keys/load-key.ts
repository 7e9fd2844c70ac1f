import type { KeyDetail } from '@tidegate/control';
import { cache } from 'react';
import { services } from '../server/services.ts';
import { read, requireOrg } from '../session/current.ts';

/**
 * The key that a page shows. Read once per request. Answers 404 if the organization has none with
 * this id.
 */
export const loadKey = cache(async (slug: string, id: string): Promise<KeyDetail> => {
  const { actor, org } = await requireOrg(slug);
  return read(await services().control.showKey(actor, { org: org.slug, id }));
});
