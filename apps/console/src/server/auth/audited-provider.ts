import { AsyncLocalStorage } from 'node:async_hooks';
import type { AccountEvent } from '@tidegate/control';
import { CLIENT_ADDRESS_HEADER } from '../http/names.ts';

/** The e-mail of the user who came back, once the provider has reported it. */
interface Claim {
  email?: string;
}

const claims = new AsyncLocalStorage<Claim>();

/** For the plugin's `mapProfileToUser`: better-auth says nothing else about whom it refuses. */
export function noteClaim({ email }: { readonly email?: unknown }): Record<string, never> {
  const claim = claims.getStore();
  if (claim && typeof email === 'string') claim.email = email;
  return {};
}

/**
 * The errors by which better-auth refuses an identity whose e-mail has an account here: the account
 * has another identity, or the e-mail is not verified.
 */
const REFUSED = new Set(['unable_to_link_account', 'account_not_linked']);

type Handler = (request: Request) => Promise<Response>;

export interface RefusedOptions {
  readonly record: (event: AccountEvent) => Promise<void>;
  /**
   * Whether the trail may get one more event of this e-mail's account: the provider limits no one.
   */
  readonly mayRecord: (email: string) => Promise<boolean>;
}

/**
 * Records sign-ins through the provider that are refused although the e-mail has an account here.
 */
export const recordingRefused =
  (handler: Handler, { record, mayRecord }: RefusedOptions): Handler =>
  async (request) => {
    const claim: Claim = {};
    const response = await claims.run(claim, () => handler(request));
    const error = /[?&]error=(\w+)/.exec(response.headers.get('location') ?? '')?.[1] ?? '';
    if (claim.email === undefined || !REFUSED.has(error)) return response;
    if (!(await mayRecord(claim.email))) return response;
    const address = request.headers.get(CLIENT_ADDRESS_HEADER) ?? undefined;
    const details = { with: 'identity provider' };
    const account = { email: claim.email };
    await record({ action: 'account.signInFailed', account, address, details });
    return response;
  };
