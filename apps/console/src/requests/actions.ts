'use server';

import { services } from '../server/services.ts';
import { currentUser, read } from '../session/current.ts';
import type { Named } from './choices.ts';
import { keyChoices } from './key-name.ts';

/** The keys or models by which requests can be filtered. Empty if no one is signed in. */
export async function listChoices(org: string, what: 'keys' | 'models'): Promise<readonly Named[]> {
  const user = await currentUser();
  if (!user) return [];
  const { control } = services();
  if (what === 'keys') return keyChoices(read(await control.listKeys(user.actor, { org })));
  const models = await control.listModels(user.actor, { org, activity: false });
  return read(models).map(({ id, name }) => ({ id, name }));
}
