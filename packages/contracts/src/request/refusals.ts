import type { Refusal } from '../errors.ts';

export type Checked<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly refusal: Refusal };

export const invalidRequest = (message: string): Refusal => ({ code: 'invalid_request', message });

const MAX_SHOWN_NAME = 64;

/** A caller's member name as messages show it: plain if it is an identifier, else quoted, and never at length. */
export function showName(name: string): string {
  const shown = name.length > MAX_SHOWN_NAME ? `${name.slice(0, MAX_SHOWN_NAME)}…` : name;
  return /^[\w-]+…?$/.test(shown) ? shown : JSON.stringify(shown);
}
