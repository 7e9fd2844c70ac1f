import { orgIdOfTag } from '@tidegate/contracts';
import { unexpected } from '../admission/decision.ts';
import type { ScriptDeps } from '../script-deps.ts';
import { SCRIPTS } from '../scripts.ts';
import type { Seeder } from '../seeding/seeder.ts';
import { untilSeeded } from '../seeding/until-seeded.ts';

export interface AuthenticatedKey {
  readonly orgId: string;
  readonly keyId: string;
  /** Null means all models of the organization. */
  readonly modelIds: readonly string[] | null;
  /** 0 means never. */
  readonly expiresAtMs: number;
  readonly imagesAllowed: boolean;
}

type AuthenticateReply =
  | { readonly kind: 'principal'; readonly principal: AuthenticatedKey }
  | { readonly kind: 'key_invalid' | 'need_key' | 'need_org' };

async function authenticateKey(
  { store, names, clock }: ScriptDeps,
  orgId: string,
  keyId: string,
  hash: string,
): Promise<AuthenticateReply> {
  const reply = await store.run(
    SCRIPTS.authenticate,
    [names.org(orgId), names.key(orgId, keyId)],
    [clock.offsetUs, hash],
  );
  const [kind, models, expiresAtMs, images] = reply;
  if (kind === 'key_invalid' || kind === 'need_key' || kind === 'need_org') return { kind };
  if (kind !== 'principal') throw unexpected(reply);
  const list = String(models);
  return {
    kind,
    principal: {
      orgId,
      keyId,
      modelIds: list === '*' ? null : list.split(' ').filter((id) => id !== ''),
      expiresAtMs: Number(expiresAtMs),
      imagesAllowed: String(images) === '1',
    },
  };
}

/**
 * Finds out who a key value belongs to. Resolves to null if it is unknown, revoked or expired.
 * Rejects with LimiterError.
 */
export async function authenticate(
  scriptDeps: ScriptDeps,
  seeder: Seeder,
  orgTag: string,
  hash: Buffer,
): Promise<AuthenticatedKey | null> {
  const { store, names } = scriptDeps;
  const orgId = orgIdOfTag(orgTag);
  const hex = hash.toString('hex');
  const known = await store.command('get', names.hash(orgId, hex));
  const keyId = typeof known === 'string' ? known : await seeder.findKey(orgTag, hash);
  if (keyId === null) return null;

  const reply = await untilSeeded({ seeder, clock: scriptDeps.clock }, { orgId, keyId }, () =>
    authenticateKey(scriptDeps, orgId, keyId, hex),
  );
  return reply.kind === 'principal' ? reply.principal : null;
}
