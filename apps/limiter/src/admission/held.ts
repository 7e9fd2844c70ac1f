import { LRUCache } from 'lru-cache';
import { Undecided } from '../undecided.ts';

/** Names an admission, as every later call about it does. */
export interface Held {
  readonly orgId: string;
  readonly instanceId: string;
  readonly admissionId: string;
}

/** Which key's and month's Redis keys an admission's record points to. Month `-`: not reserved. */
export interface Place {
  readonly keyId: string;
  readonly month: string;
}

/** A guess for an admission that this process knows nothing of: the script answers where it is. */
export const UNKNOWN_PLACE: Place = { keyId: '-', month: '-' };

export type Elsewhere = { readonly kind: 'elsewhere'; readonly place: Place };

/** Runs `ask` where the admission is thought to be, and once more where it really is. */
export async function atItsPlace<T extends { readonly kind: string }>(
  place: Place,
  ask: (place: Place) => Promise<T | Elsewhere>,
): Promise<Exclude<T, Elsewhere>> {
  let reply = await ask(place);
  // A reservation may come between the two, and moves the record to a month: hence a third time.
  for (let again = 0; isElsewhere(reply) && again < 2; again++) reply = await ask(reply.place);
  if (isElsewhere(reply)) throw new Undecided('state', 'an admission moved while it was ended');
  return reply as Exclude<T, Elsewhere>;
}

const isElsewhere = (reply: { readonly kind: string }): reply is Elsewhere => reply.kind === 'elsewhere';

/** Remembers where admissions are between their calls. Bounded; what is forgotten costs one more question. */
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
