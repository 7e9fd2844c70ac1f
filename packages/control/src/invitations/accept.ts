import { z } from 'zod';
import type { Actor } from '../access/access.ts';
import { audit } from '../access/audit.ts';
import type { Role } from '../access/policy.ts';
import type { ControlDeps, Tx } from '../deps.ts';
import { nameField, reference } from '../fields.ts';
import { lockMembers } from '../members/lock.ts';
import {
  createCredential,
  createUser,
  type HashedPassword,
  hashedPasswordOf,
  passwordField,
} from '../members/user.ts';
import { weakPassword } from '../members/weak-password.ts';
import {
  type ControlRefusal,
  type Fault,
  ok,
  parseInput,
  type Result,
  refuse,
  refuseInput,
} from '../result.ts';
import { whoMayInvite } from './inviter.ts';
import { hashOfToken } from './token.ts';

/** What anyone with an invitation's link may see. */
export interface OpenInvitation {
  readonly org: { readonly slug: string; readonly name: string };
  readonly email: string;
  readonly role: Role;
  readonly invitedBy: string;
  /**
   * Whether the e-mail has an account. If so, its owner must sign in to accept. If not, accepting
   * creates one.
   */
  readonly hasAccount: boolean;
}

const NOT_OPEN = 'This invitation has been used, was withdrawn or has expired: ask an owner for a new one.';
const tokenField = reference('Token');
const openInput = z.object({ token: tokenField });
export type OpenInvitationInput = z.input<typeof openInput>;

/** Shows an invitation to anyone who has its link. The actor does not matter. */
export async function openInvitation(
  deps: ControlDeps,
  _actor: Actor | null,
  input: OpenInvitationInput,
): Promise<Result<OpenInvitation>> {
  const parsed = parseInput(openInput, input);
  if (!parsed.ok) return parsed;
  const row = await deps.db.invitation.findFirst({
    where: { tokenHash: hashOfToken(parsed.value.token), expiresAt: { gt: new Date(deps.now()) } },
    include: { org: { select: { slug: true, name: true } } },
  });
  if (!row) return refuse('not_found', NOT_OPEN, 'token');
  const { orgId, org, email, role, invitedBy } = row;
  if (!(await whoMayInvite(deps.db, orgId)).has(invitedBy)) return refuse('not_found', NOT_OPEN, 'token');
  const account = await deps.db.user.findUnique({ where: { email }, select: { id: true } });
  return ok({ org, email, role, invitedBy, hasAccount: account !== null });
}

const acceptInput = z.object({
  token: tokenField,
  /** Name and password are for a new account. Users who are signed in leave them out. */
  name: nameField('Name', 80).optional(),
  password: passwordField.optional(),
  /** The new account gets no password: its owner signs in with the identity provider. */
  withoutPassword: z.boolean({ error: 'Without password must be true or false.' }).optional(),
});
export type AcceptInvitationInput = z.input<typeof acceptInput>;

/**
 * Makes the invited person a member, once. If the e-mail has an account, it must be the one signed
 * in. Otherwise a name and a password create the account. Resolves to the new member's e-mail and
 * organization.
 */
export async function acceptInvitation(
  deps: ControlDeps,
  actor: Actor | null,
  input: AcceptInvitationInput,
): Promise<Result<{ email: string; org: string }>> {
  const parsed = parseInput(acceptInput, input);
  if (!parsed.ok) return withWeakness(deps, parsed.refusal, input);
  const { token } = parsed.value;
  const open = await openInvitation(deps, actor, { token });
  if (!open.ok) return open;
  const newAccount = actor?.kind === 'user' ? null : await newAccountOf(deps, open.value, parsed.value);
  if (newAccount !== null && !newAccount.ok) return newAccount;
  return deps.db
    .$transaction(async (tx): Promise<Result<{ email: string; org: string }>> => {
      const taken = await takeInvitation(tx, deps.now(), token);
      if (!taken) return refuse('not_found', NOT_OPEN, 'token');
      const { orgId, email, role, slug } = taken;
      const user = await accountFor(tx, deps.now(), actor, email, newAccount?.value);
      // A refusal must leave the invitation open.
      if (!user.ok) throw new RefusedInvitation(user);
      const userId = user.value;
      const { count } = await tx.member.createMany({
        data: [{ orgId, userId, role, createdAt: new Date(deps.now()) }],
        skipDuplicates: true,
      });
      // The invitation is spent all the same, so that a removed member cannot come back with it.
      if (count === 0) return refuse('conflict', `${email} is already a member.`);
      const who: Actor = { kind: 'user', userId, email };
      await audit(tx, who, deps.now(), [
        { orgId, action: 'member.join', target: userId, details: { email, role } },
      ]);
      return ok({ email, org: slug });
    })
    .catch((error) => {
      if (error instanceof RefusedInvitation) return error.refusal;
      throw error;
    });
}

/** Carries a refusal out of a transaction that must be rolled back. */
class RefusedInvitation extends Error {
  readonly refusal: Result<never>;
  constructor(refusal: Result<never>) {
    super('refused');
    this.refusal = refusal;
  }
}

interface Taken {
  readonly orgId: string;
  readonly invitedBy: string;
  readonly email: string;
  readonly role: Role;
  readonly slug: string;
}

/**
 * Takes the invitation, if its inviter may still invite. Of two concurrent callers, only one gets
 * it. Members are locked first, as by every change of members, so that no one joins with an
 * invitation from someone who is being removed.
 */
async function takeInvitation(tx: Tx, nowMs: number, token: string): Promise<Taken | undefined> {
  const tokenHash = hashOfToken(token);
  const open = await tx.invitation.findUnique({ where: { tokenHash }, select: { orgId: true } });
  if (!open) return undefined;
  await lockMembers(tx, open.orgId);
  const [taken] = await tx.$queryRaw<Taken[]>`
    DELETE FROM invitation USING org
    WHERE token_hash = ${tokenHash} AND expires_at > ${new Date(nowMs)} AND org.id = invitation.org_id
    RETURNING org_id AS "orgId", email, role::text AS role, invited_by AS "invitedBy", org.slug`;
  return taken && (await whoMayInvite(tx, open.orgId)).has(taken.invitedBy) ? taken : undefined;
}

interface NewAccount {
  readonly name: string;
  /** Null: the account gets no password. */
  readonly secret: HashedPassword | null;
}

const NO_NAME: Fault = { field: 'name', message: 'Name must be given.' };
const NO_PASSWORD: Fault = { field: 'password', message: 'Password must be given.' };

/**
 * What the new account is created from. Its password is hashed last, because that costs CPU time.
 */
async function newAccountOf(
  deps: ControlDeps,
  { email, org, hasAccount }: OpenInvitation,
  { name, password, withoutPassword }: z.output<typeof acceptInput>,
): Promise<Result<NewAccount>> {
  if (hasAccount) return refuseKnown(email);
  const lacksPassword = password === undefined && !withoutPassword;
  if (name === undefined) return refuseInput(NO_NAME, ...(lacksPassword ? [NO_PASSWORD] : []));
  if (withoutPassword) return ok({ name, secret: null });
  if (password === undefined) return refuseInput(NO_PASSWORD);
  const weak = await weakPassword(password, { email, orgs: [org.name] });
  return weak ? refuseInput(weak) : ok({ name, secret: await hashedPasswordOf(deps, password) });
}

/** Adds a weak password to the faults of the input, so that all of them are reported at once. */
async function withWeakness(
  deps: ControlDeps,
  refusal: ControlRefusal,
  { token, password }: AcceptInvitationInput,
): Promise<Result<never>> {
  const { others = [], field, message } = refusal;
  const faults = [...others, field === undefined ? { message } : { message, field }];
  const isOther = faults.every((fault) => fault.field === 'name');
  const open = isOther && password !== undefined ? await openInvitation(deps, null, { token }) : null;
  if (!open?.ok || password === undefined) return { ok: false, refusal };
  const weak = await weakPassword(password, { email: open.value.email, orgs: [open.value.org.name] });
  return { ok: false, refusal: weak ? { ...refusal, others: [...others, weak] } : refusal };
}

const refuseKnown = (email: string) =>
  refuse('forbidden', `${email} has an account: sign in to accept the invitation.`);

async function accountFor(
  tx: Tx,
  nowMs: number,
  actor: Actor | null,
  email: string,
  newAccount: NewAccount | undefined,
): Promise<Result<string>> {
  if (actor?.kind === 'user') {
    if (actor.email === email) return ok(actor.userId);
    return refuse('forbidden', `This invitation is for ${email}: sign in as that account to accept it.`);
  }
  // Someone else may have created the account meanwhile.
  const user = newAccount && (await createUser(tx, nowMs, email, newAccount.name));
  if (!newAccount || !user) return refuseKnown(email);
  if (newAccount.secret !== null) await createCredential(tx, user.createdAt, user.id, newAccount.secret.hash);
  return ok(user.id);
}
