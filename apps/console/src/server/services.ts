import type { AccountEvent, Control } from '@tidegate/control';
import type { Logger } from '@tidegate/runtime';
import type { Accounts } from './auth/accounts.ts';
import type { Auth } from './auth/auth.ts';
import type { Passkeys } from './auth/passkeys.ts';
import type { SecondFactor } from './auth/second-factor.ts';
import type { UserSessions } from './auth/sessions.ts';
import type { SignIn } from './auth/sign-in.ts';

/** What the screens use. main.ts creates it and owns everything in it. */
export interface Services {
  readonly control: Control;
  readonly auth: Auth;
  readonly signIn: SignIn;
  readonly secondFactor: SecondFactor;
  /** Null: there are no passwords, or browsers create no passkeys for the console's address. */
  readonly passkeys: Passkeys | null;
  readonly sessions: UserSessions;
  readonly accounts: Accounts;
  /** Records what happened to an account in the audit trails. Never rejects. */
  readonly recordAccount: (event: AccountEvent) => Promise<void>;
  readonly logger: Logger;
  /** Base URL of the API, as shown to users. */
  readonly publicApiUrl: string;
  /** Base URL of the API, as this server calls it. */
  readonly apiUrl: string;
  /** Where browsers find the console. */
  readonly consoleUrl: string;
  /** Name of the identity provider. Null: there is none. */
  readonly oidcName: string | null;
  /** Whether people sign in with passwords. Otherwise only with the identity provider. */
  readonly passwords: boolean;
  /** How long a session lasts without use. */
  readonly idleTimeoutMs: number;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** Screens are bundled separately from main.ts. Both find the services under this symbol. */
const MEETING_POINT = Symbol.for('tidegate.console.services');

export function provideServices(services: Services): void {
  (globalThis as Record<symbol, unknown>)[MEETING_POINT] = services;
}

export function services(): Services {
  const provided = (globalThis as Record<symbol, unknown>)[MEETING_POINT];
  if (!provided) throw new Error('the console was not started by its main');
  return provided as Services;
}
