import { newUserId, randomBase62 } from '@tidegate/contracts';
import type { Db } from '@tidegate/db';
import { LIMITS } from '@tidegate/limits';
import { z } from 'zod';
import { CREDENTIAL } from '../access/second-factor.ts';
import type { ControlDeps, Tx } from '../deps.ts';
import { ok, type Result, refuse } from '../result.ts';

const GENERATED_LENGTH = 20;
const EMAIL_RULE = 'E-mail must be an address such as ada@example.com.';
const { min: MIN_LENGTH, max: MAX_LENGTH } = LIMITS.passwordCharacters;
export const PASSWORD_RULE = `Password must have ${MIN_LENGTH} to ${MAX_LENGTH} characters.`;

export const emailField = z
  .string({ error: EMAIL_RULE })
  .trim()
  .toLowerCase()
  .max(254, { error: EMAIL_RULE })
  .pipe(z.email({ error: EMAIL_RULE }));

export const passwordField = z
  .string({ error: PASSWORD_RULE })
  .min(MIN_LENGTH, { error: PASSWORD_RULE })
  .max(MAX_LENGTH, { error: PASSWORD_RULE });

export interface FoundUser {
  readonly id: string;
  readonly name: string;
  /** When the account was created. */
  readonly createdAt: Date;
  readonly existed: boolean;
  /** Set for a new account when no password was given. */
  readonly generatedPassword?: string;
}

/** A hashed password. Hashing takes a tenth of a second of CPU time: too long for a transaction. */
export interface HashedPassword {
  readonly hash: string;
  /** The password itself, if it was generated here. */
  readonly generated?: string;
}

export async function hashedPasswordOf(
  deps: Pick<ControlDeps, 'hashPassword'>,
  password: string | undefined,
): Promise<HashedPassword> {
  const { hashPassword = (await import('better-auth/crypto')).hashPassword } = deps;
  if (password !== undefined) return { hash: await hashPassword(password) };
  const generated = randomBase62(GENERATED_LENGTH);
  return { hash: await hashPassword(generated), generated };
}

/** Whether an e-mail has an account, which then needs no password. */
export const hasAccount = async (db: Db, email: string): Promise<boolean> =>
  (await db.user.findUnique({ where: { email }, select: { id: true } })) !== null;

/** Whether an account can sign in with this password. */
export async function hasPassword(db: Db, email: string, password: string): Promise<boolean> {
  const where = { providerId: CREDENTIAL, user: { email } };
  const credential = await db.account.findFirst({ where, select: { password: true } });
  if (!credential?.password) return false;
  const { verifyPassword } = await import('better-auth/crypto');
  return verifyPassword({ hash: credential.password, password });
}

/**
 * Finds the account of an e-mail, or creates a user with a password as the console's sign-in
 * expects it. It refuses a password for an existing account, because that would take the account
 * over.
 *
 * @param secret Null: the account is known to exist.
 */
export async function findOrCreateUser(
  tx: Tx,
  nowMs: number,
  email: string,
  secret: HashedPassword | null,
): Promise<Result<FoundUser>> {
  if (secret === null) return findUser(tx, email);
  const { hash, generated } = secret;
  const user = await createUser(tx, nowMs, email);
  if (user === null) {
    if (generated !== undefined) return findUser(tx, email);
    return refuse(
      'conflict',
      `${email} has an account already, with its own password: leave the password out.`,
      'password',
    );
  }
  await createCredential(tx, user.createdAt, user.id, hash);
  const made = { ...user, existed: false };
  return ok(generated === undefined ? made : { ...made, generatedPassword: generated });
}

async function findUser(tx: Tx, email: string): Promise<Result<FoundUser>> {
  const select = { id: true, name: true, createdAt: true };
  const user = await tx.user.findUnique({ where: { email }, select });
  if (user === null) return refuse('conflict', `The account of ${email} has just been deleted. Try again.`);
  return ok({ ...user, existed: true });
}

/** Creates a user who cannot sign in with a password yet. Null: the e-mail has an account. */
export async function createUser(
  tx: Tx,
  nowMs: number,
  email: string,
  name = email.slice(0, email.indexOf('@')),
): Promise<{ id: string; name: string; createdAt: Date } | null> {
  const at = new Date(nowMs);
  const [id, createdAt] = [newUserId(), at];
  const data = [{ id, name, email, createdAt, updatedAt: at }];
  const { count } = await tx.user.createMany({ data, skipDuplicates: true });
  return count === 0 ? null : { id, name, createdAt };
}

/** Gives an account its first password. It must not have one yet. */
export async function createCredential(tx: Tx, at: Date, userId: string, hash: string): Promise<void> {
  await tx.account.create({
    data: {
      id: `acc_${randomBase62(16)}`,
      accountId: userId,
      providerId: CREDENTIAL,
      userId,
      password: hash,
      createdAt: at,
      updatedAt: at,
    },
  });
}
