import { LRUCache } from 'lru-cache';
import { Undecided } from '../undecided.ts';

/** Identifies an admission in every later call about it. */
export interface Held {
  readonly orgId: string;
  readonly instanceId: string;
  readonly admissionId: string;
}

/**
 * The key and the month whose Redis keys an admission's record refers to. Month `-` means not
 * reserved.
 */
export interface Place {
  readonly keyId: string;
  readonly month: string;
}

/**
 * The guess for an admission that this process knows nothing about. The script replies with the
 * real place.
 */
export const UNKNOWN_PLACE: Place = { keyId: '-', month: '-' };

export type Elsewhere = { readonly kind: 'elsewhere'; readonly place: Place };

/**
 * Runs `ask` with the assumed place of the admission, and again with the real one if that differs.
 */
export async function atItsPlace<T extends { readonly kind: string }>(
  place: Place,
  ask: (place: Place) => Promise<T | Elsewhere>,
): Promise<Exclude<T, Elsewhere>> {
  let reply = await ask(place);
  // A reservation in between may move the record to a month, so a third attempt can be necessary.
  for (let again = 0; isElsewhere(reply) && again < 2; again++) reply = await ask(reply.place);
  if (isElsewhere(reply)) throw new Undecided('state', 'an admission moved while it was ended');
  return reply as Exclude<T, Elsewhere>;
}

const isElsewhere = (reply: { readonly kind: string }): reply is Elsewhere => reply.kind === 'elsewhere';

/**
 * Remembers the places of admissions between their calls. Bounded: a forgotten place only costs one
 * more script call.
 */
export class Places {
  readonly #places: LRUCache<string, Place>;

  constructor(max = 100_000) {
    this.#places = new LRUCache({ max });
  }

  put(admissionId: string, place: Place): void {
    this.#places.set(admissionId, place);
  }

  get(admissionId: string): Place {
    return this.#places.get(admissionId) ?? UNKNOWN_PLACE;
  }

  drop(admissionId: string): void {
    this.#places.delete(admissionId);
  }
}
