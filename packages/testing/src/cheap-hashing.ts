import { createHash } from 'node:crypto';

const hash = async (password: string): Promise<string> =>
  `cheap:${createHash('sha256').update(password).digest('hex')}`;

/** Hashes passwords at next to no cost. For tests that are not about hashing. */
export const cheapHashing = {
  hash,
  verify: async (given: { hash: string; password: string }): Promise<boolean> =>
    given.hash === (await hash(given.password)),
};
