'use server';

import type { CreatedKey, CreateKeyInput, KeyView, Result } from '@tidegate/control';
import { services } from '../server/services.ts';
import { asUser } from '../session/current.ts';

export const createKey = async (input: CreateKeyInput): Promise<Result<CreatedKey>> =>
  asUser((actor) => services().control.createKey(actor, input));

export const revokeKey = async (org: string, id: string): Promise<Result<KeyView>> =>
  asUser((actor) => services().control.revokeKey(actor, { org, id }));

export const deleteKey = async (org: string, id: string): Promise<Result<KeyView>> =>
  asUser((actor) => services().control.deleteKey(actor, { org, id }));
