import { type Actor, access } from '../access/access.ts';
import type { ControlDeps } from '../deps.ts';
import { modelInput } from '../models/input.ts';
import { publishModel } from '../models/publish.ts';
import type { ModelChange } from '../models/view.ts';
import { parseInput, type Result, refuse } from '../result.ts';
import { type FoundModel, type FoundServer, publicationOf } from './discover.ts';
import { readPublished } from './published.ts';

export interface PublishFoundInput {
  readonly org?: string;
  readonly server: FoundServer;
  readonly model: FoundModel;
}

/**
 * Publishes a model that was found, unless the organization has already published it under any
 * name.
 */
export async function publishFound(
  deps: ControlDeps,
  actor: Actor,
  { org: ref, server, model }: PublishFoundInput,
): Promise<Result<ModelChange>> {
  const ofOrg = ref === undefined ? {} : { org: ref };
  const parsed = parseInput(modelInput, { ...ofOrg, name: model.name });
  if (!parsed.ok) return parsed;
  const org = await access(deps, actor, parsed.value.org, 'model.publish');
  if (!org.ok) return org;
  const name = (await readPublished(deps.db, org.value.id)).nameOf(server, model);
  if (name !== undefined) return refuse('conflict', `It is already published as "${name}".`, 'name');
  return publishModel(deps, actor, { ...publicationOf(server, model), ...ofOrg });
}
