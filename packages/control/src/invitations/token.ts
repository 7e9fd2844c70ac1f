import { createHash } from 'node:crypto';
import { randomBase62 } from '@tidegate/contracts';

const TOKEN_LENGTH = 32;

export const newInvitationToken = (): string => randomBase62(TOKEN_LENGTH);

/** The hash that is stored instead of a token. */
export const hashOfToken = (token: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(createHash('sha256').update(token).digest());
