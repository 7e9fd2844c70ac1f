import { createHash } from 'node:crypto';

/** Identifies an e-mail, however it was typed, without revealing it. */
export const digest = (email: string): string =>
  createHash('sha256').update(email.trim().toLowerCase()).digest('hex');
