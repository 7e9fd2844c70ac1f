import type { ControlDeps, Tx } from '../deps.ts';

/**
 * The provider id that the sign-in library gives to passwords. Other accounts name an identity
 * provider.
 */
export const CREDENTIAL = 'credential';

/** What tells whether a user lacks a second factor. */
export const SECOND_FACTOR = {
  twoFactorEnabled: true,
  accounts: { where: { providerId: CREDENTIAL }, select: { id: true } },
} as const;

interface Factors {
  readonly twoFactorEnabled: boolean;
  readonly accounts: readonly { readonly id: string }[];
}

/**
 * Whether a password alone lets the user in. Others come from the identity provider, which asks for
 * what it wants.
 */
export const isPasswordEnough = (
  { passwords = true }: Pick<ControlDeps, 'passwords'>,
  { twoFactorEnabled, accounts }: Factors,
): boolean => passwords && accounts.length > 0 && !twoFactorEnabled;

export async function lacksSecondFactor(
  deps: Pick<ControlDeps, 'passwords'> & { readonly db: Tx },
  userId: string,
): Promise<boolean> {
  const user = await deps.db.user.findUnique({ where: { id: userId }, select: SECOND_FACTOR });
  return user !== null && isPasswordEnough(deps, user);
}
