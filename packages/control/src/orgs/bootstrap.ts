import { z } from 'zod';
import { type Actor, operatorOnly } from '../access/access.ts';
import { audit } from '../access/audit.ts';
import type { ControlDeps, Tx } from '../deps.ts';
import { nameField, reference } from '../fields.ts';
import {
  emailField,
  findOrCreateUser,
  hasAccount,
  hashedPasswordOf,
  passwordField,
} from '../members/user.ts';
import { weakPassword } from '../members/weak-password.ts';
import { ok, parseInput, type Result, refuseInput } from '../result.ts';
import { DEFAULT_PLAN, type OrgView, saveOrg } from './orgs.ts';

const bootstrapInput = z.object({
  org: nameField('Name', 80),
  plan: reference('Plan').default(DEFAULT_PLAN),
  owner: emailField,
  password: passwordField.optional(),
});
export type BootstrapInput = z.input<typeof bootstrapInput>;

export interface BootstrapView {
  readonly org: OrgView;
  readonly owner: string;
  /** Whether the owner can sign in with the password that was given. Null: none was given. */
  readonly passwordSet: boolean | null;
}

/**
 * Creates the first organization and its owner, both or neither. Does nothing, and resolves to
 * null, if there is any organization. So it may run at every start, and brings back nothing that
 * was changed or deleted since. Without a password, a new account gets one that no one knows. An
 * existing account keeps its own. For operators only.
 */
export async function bootstrap(
  deps: ControlDeps,
  actor: Actor,
  input: BootstrapInput,
): Promise<Result<BootstrapView | null>> {
  const allowed = operatorOnly(actor);
  if (!allowed.ok) return allowed;
  const parsed = parseInput(bootstrapInput, input);
  if (!parsed.ok) return parsed;
  const { org: name, plan, owner: email, password } = parsed.value;
  if (await deps.db.org.findFirst({ select: { id: true } })) return ok(null);
  const weak = password === undefined ? null : await weakPassword(password, { email, orgs: [name] });
  if (weak) return refuseInput(weak);
  const secret = (await hasAccount(deps.db, email)) ? null : await hashedPasswordOf(deps, password);
  return deps.db.$transaction(async (tx): Promise<Result<BootstrapView | null>> => {
    await lockOrgs(tx);
    if (await tx.org.findFirst({ select: { id: true } })) return ok(null);
    const org = await saveOrg(tx, actor, deps.now(), { name, plan });
    if (!org.ok) return org;
    const user = await findOrCreateUser(tx, deps.now(), email, secret);
    if (!user.ok) return user;
    const { id: userId, existed } = user.value;
    const [orgId, at] = [org.value.id, new Date(deps.now())];
    await tx.member.create({ data: { orgId, userId, role: 'owner', createdAt: at } });
    const details = { email, role: 'owner' };
    await audit(tx, actor, deps.now(), [{ orgId, action: 'member.add', target: userId, details }]);
    return ok({ org: org.value, owner: email, passwordSet: password === undefined ? null : !existed });
  });
}

/** Makes concurrent bootstraps wait. Any number will do, as long as nothing else uses it. */
const lockOrgs = (tx: Tx): Promise<unknown> => tx.$queryRaw`SELECT pg_advisory_xact_lock(7461726773)::text`;
