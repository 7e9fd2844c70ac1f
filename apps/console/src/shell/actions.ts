'use server';

import type { Result } from '@tidegate/control';
import { services } from '../server/services.ts';
import { asUser } from '../session/current.ts';
import type { Findable } from './find.ts';

/** The organization's keys, models and members, as something to go to. */
export const findables = async (org: string): Promise<Result<Findable[]>> =>
  asUser(async (actor) => {
    const { control } = services();
    const [keys, models, members] = await Promise.all([
      control.listKeys(actor, { org }),
      control.listModels(actor, { org, activity: false }),
      control.listMembers(actor, { org }),
    ]);
    if (!keys.ok) return keys;
    if (!models.ok) return models;
    if (!members.ok) return members;
    const at = `/o/${org}`;
    return {
      ok: true,
      value: [
        ...keys.value.map(({ id, name, prefix, state }) => ({
          group: 'Keys' as const,
          id,
          name,
          href: `${at}/keys/${id}`,
          hint: state === 'Active' ? `${prefix}…` : `${prefix}… ${state}`,
        })),
        ...models.value.map(({ id, name }) => ({
          group: 'Models' as const,
          id,
          name,
          href: `${at}/api/${id}`,
        })),
        ...members.value.map(({ userId, name, email }) => ({
          group: 'Members' as const,
          id: userId,
          name,
          hint: email,
          href: `${at}/members`,
        })),
      ],
    };
  });
