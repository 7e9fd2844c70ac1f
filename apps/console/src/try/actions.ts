'use server';

import type { CreatedPageKey, Result } from '@tidegate/control';
import { services } from '../server/services.ts';
import { asUser } from '../session/current.ts';

export const createPageKey = async (org: string): Promise<Result<CreatedPageKey>> =>
  asUser((actor, session) => services().control.createPageKey(actor, { org, session }));
