import { randomBytes } from 'node:crypto';
import { SERVICE_NAMES, type ServiceName } from '@tidegate/contracts';
import { type Files, readJson, writeJson } from './files.ts';

/**
 * Secrets that the local stack must remember, because the product does not keep them in the clear.
 */
export interface Secrets {
  readonly owner: { readonly email: string; readonly password: string };
  /** Seals upstream keys. 32 bytes in base64. */
  readonly secretKey: string;
  /** Signs the console's cookies. */
  readonly authSecret: string;
  /** By which services prove who they are. */
  readonly serviceTokens: Readonly<Record<ServiceName, string>>;
  /** The demo organization and its key value. Null until they are created. */
  readonly demo: { readonly org: string; readonly apiKey: string } | null;
}

export function loadSecrets({ secrets }: Files): Secrets {
  const known = readJson(secrets) as Partial<Secrets> | null;
  // Secrets that an older checkout did not have are created now.
  const made: Secrets = {
    owner: { email: 'owner@demo.local', password: randomBytes(12).toString('base64url') },
    secretKey: randomBytes(32).toString('base64'),
    authSecret: randomBytes(32).toString('base64url'),
    demo: null,
    ...known,
    serviceTokens: { ...newTokens(), ...known?.serviceTokens },
  };
  writeJson(secrets, made);
  return made;
}

const newTokens = () =>
  Object.fromEntries(SERVICE_NAMES.map((name) => [name, randomBytes(32).toString('base64url')])) as Record<
    ServiceName,
    string
  >;

export function rememberDemo(files: Files, demo: NonNullable<Secrets['demo']>): Secrets {
  const secrets = { ...loadSecrets(files), demo };
  writeJson(files.secrets, secrets);
  return secrets;
}
