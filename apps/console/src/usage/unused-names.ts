import { isPageKey, PAGE_KEYS } from '@tidegate/contracts';
import { PAGE_KEY, type UsageRowView } from '@tidegate/control';
import { services } from '../server/services.ts';
import { read, type UserActor } from '../session/current.ts';
import type { UsageChoice } from './filter.ts';
import { keyOptionText, type UnusedNames } from './options.ts';

/** Finds the names of a chosen key or model that is in no row. */
export async function unusedNames(
  actor: UserActor,
  org: string,
  rows: readonly UsageRowView[],
  { keyId, modelId }: UsageChoice,
): Promise<UnusedNames> {
  const isKeyUsed = keyId === '' || rows.some((row) => row.keyId === keyId);
  const isModelUsed = modelId === '' || rows.some((row) => row.modelId === modelId);
  const [key, model] = await Promise.all([
    isKeyUsed ? undefined : keyName(actor, org, keyId),
    isModelUsed ? undefined : modelName(actor, org, modelId),
  ]);
  return { key, model };
}

async function keyName(actor: UserActor, org: string, id: string): Promise<string | null> {
  if (id === PAGE_KEYS) return PAGE_KEY;
  if (isPageKey(id)) return keyOptionText(id, PAGE_KEY, null);
  const key = read(await services().control.listKeys(actor, { org })).find((one) => one.id === id);
  return key ? keyOptionText(id, key.name, key.prefix) : null;
}

async function modelName(actor: UserActor, org: string, id: string): Promise<string | null> {
  const models = read(await services().control.listModels(actor, { org, activity: false }));
  return models.find((one) => one.id === id)?.name ?? null;
}
