import type { ControlDeps, Tx } from '../deps.ts';

/**
 * The provider id that the sign-in library gives to passwords. Other accounts name an identity
 * provider.
 */
export const CREDENTIAL = 'credential';

/** What to select of a user to find out whether they lack a second factor. */
export const SECOND_FACTOR = {
  twoFactorEnabled: true,
  accounts: { where: { providerId: CREDENTIAL }, select: { id: true } },
} as const;

interface Factors {
  readonly twoFactorEnabled: boolean;
  readonly accounts: readonly { readonly id: string }[];
}

/**
 * Whether a password alone lets the user in. Users without one come from the identity provider,
 * which decides for itself what to ask for.
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
