import type { Control } from '@tidegate/control';
import type { Logger } from '@tidegate/runtime';
import type { Accounts } from './auth/accounts.ts';
import type { Auth } from './auth/auth.ts';
import type { SignIn } from './auth/sign-in.ts';

/** What the screens work with. main.ts makes it once and owns all of it. */
export interface Services {
  readonly control: Control;
  readonly auth: Auth;
  readonly signIn: SignIn;
  readonly accounts: Accounts;
  readonly logger: Logger;
  /** Base URL of the API, for people. */
  readonly publicApiUrl: string;
  /** Base URL of the API, for this server. */
  readonly apiUrl: string;
  /** Where browsers find the console. */
  readonly consoleUrl: string;
  /** Name of the identity provider; null: there is none. */
  readonly oidcName: string | null;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** Screens are bundled apart from main.ts, so the two meet at a symbol of the process. */
const MEETING_POINT = Symbol.for('tidegate.console.services');

export function provideServices(services: Services): void {
  (globalThis as Record<symbol, unknown>)[MEETING_POINT] = services;
}

export function services(): Services {
  const provided = (globalThis as Record<symbol, unknown>)[MEETING_POINT];
  if (!provided) throw new Error('the console was not started by its main');
  return provided as Services;
}
