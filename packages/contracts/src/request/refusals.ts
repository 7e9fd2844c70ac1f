import { newRefusal, type Refusal } from '../errors.ts';

export const invalidRequest = (message: string): Refusal => newRefusal({ code: 'invalid_request', message });

const MAX_SHOWN_NAME = 64;

/** A caller's member name as error messages show it: cut to 64 characters, quoted if need be. */
export function showName(name: string): string {
  const shown = name.length > MAX_SHOWN_NAME ? `${name.slice(0, MAX_SHOWN_NAME)}…` : name;
  return /^[\w-]+…?$/.test(shown) ? shown : JSON.stringify(shown);
}
