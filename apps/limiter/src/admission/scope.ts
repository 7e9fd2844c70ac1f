import { LimiterError } from '../limiter-error.ts';

/**
 * The key and the month that an admission counts toward. They decide which Redis keys a script
 * needs. Month `-` means not reserved.
 */
export interface AdmissionScope {
  readonly keyId: string;
  readonly month: string;
}

/**
 * The guess for an admission that this process knows nothing about. The script replies with the
 * real scope.
 */
export const UNKNOWN_SCOPE: AdmissionScope = { keyId: '-', month: '-' };

/** A script's reply: it was called with another scope than the admission's, and did nothing. */
export type WrongScope = { readonly kind: 'wrong_scope'; readonly scope: AdmissionScope };

/**
 * Runs `ask` with the assumed scope of the admission, and again with the real one if that differs.
 */
export async function withScope<T extends { readonly kind: string }>(
  scope: AdmissionScope,
  ask: (scope: AdmissionScope) => Promise<T | WrongScope>,
): Promise<Exclude<T, WrongScope>> {
  let reply = await ask(scope);
  // A reservation in between may add a month to the scope, so a third attempt can be necessary.
  for (let again = 0; isWrongScope(reply) && again < 2; again++) reply = await ask(reply.scope);
  if (isWrongScope(reply))
    throw new LimiterError('state', "an admission's scope changed while it was being ended");
  return reply as Exclude<T, WrongScope>;
}

const isWrongScope = (reply: { readonly kind: string }): reply is WrongScope => reply.kind === 'wrong_scope';

/**
 * Remembers the scopes of admissions between their calls. Bounded: when the young generation is
 * full, it becomes the old one, and the old one is forgotten. A scope that was forgotten only costs
 * one more script call.
 *
 * Not an `LRUCache`: that clears its arrays, of its full size, whenever its last entry is dropped.
 * With one request at a time each settlement does that, which took a quarter of the limiter's CPU.
 */
export class ScopeCache {
  readonly #perGeneration: number;
  #young = new Map<string, AdmissionScope>();
  #old = new Map<string, AdmissionScope>();

  constructor(perGeneration = 50_000) {
    this.#perGeneration = perGeneration;
  }

  put(admissionId: string, scope: AdmissionScope): void {
    if (this.#young.size >= this.#perGeneration) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(admissionId, scope);
  }

  get(admissionId: string): AdmissionScope {
    return this.#young.get(admissionId) ?? this.#old.get(admissionId) ?? UNKNOWN_SCOPE;
  }

  drop(admissionId: string): void {
    this.#young.delete(admissionId);
    this.#old.delete(admissionId);
  }
}
