import { randomBytes } from 'node:crypto';
import { type Files, readJson, writeJson } from './files.ts';

/** What the local stack must remember itself, because the product keeps no such thing in the clear. */
export interface Secrets {
  readonly owner: { readonly email: string; readonly password: string };
  /** 32 bytes in base64; seals upstream keys. */
  readonly secretKey: string;
  /** Signs the console's cookies. */
  readonly authSecret: string;
  /** The demo organization and its key value, once made. */
  readonly demo: { readonly org: string; readonly apiKey: string } | null;
}

export function loadSecrets({ secrets }: Files): Secrets {
  const known = readJson(secrets) as Partial<Secrets> | null;
  // What an older checkout did not know yet is made now.
  const made: Secrets = {
    owner: { email: 'owner@demo.local', password: randomBytes(12).toString('base64url') },
    secretKey: randomBytes(32).toString('base64'),
    authSecret: randomBytes(32).toString('base64url'),
    demo: null,
    ...known,
  };
  writeJson(secrets, made);
  return made;
}

export function rememberDemo(files: Files, demo: NonNullable<Secrets['demo']>): Secrets {
  const secrets = { ...loadSecrets(files), demo };
  writeJson(files.secrets, secrets);
  return secrets;
}
