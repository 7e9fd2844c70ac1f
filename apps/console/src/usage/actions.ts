'use server';

import { notFound } from 'next/navigation';
import { services } from '../server/services.ts';
import { currentUser, read } from '../session/current.ts';
import { periodOf, type UsageChoice } from './filter.ts';
import { type Options, optionsOf } from './options.ts';
import { unusedNames } from './unused-names.ts';

/**
 * The keys and models with usage in a period, busiest first, and what is chosen. Null if nobody
 * is signed in.
 */
export async function listOptions(org: string, period: string, choice: UsageChoice): Promise<Options | null> {
  const user = await currentUser();
  if (!user) return null;
  if (typeof choice?.keyId !== 'string' || typeof choice.modelId !== 'string') notFound();
  const { span } = periodOf({ period });
  const { rows } = read(await services().control.showUsage(user.actor, { org, ...span }));
  return optionsOf(rows, choice, await unusedNames(user.actor, org, rows, choice));
}
