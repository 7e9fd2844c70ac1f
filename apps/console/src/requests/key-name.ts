import type { Named } from './choices.ts';

/** A key in a list of choices. Several may have the same name. */
export const keyName = (key: { id: string; name: string; prefix: string }): Named => ({
  id: key.id,
  name: `${key.name} · ${key.prefix}…`,
});
