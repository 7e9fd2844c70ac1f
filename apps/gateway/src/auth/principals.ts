import type { ParsedApiKey } from '@tidegate/contracts';
import type { Principal__Output } from '@tidegate/rpc';
import { LRUCache } from 'lru-cache';

/** Who calls: one key of one organization, as of at most `ttlMs` ago. */
export interface Principal {
  readonly orgId: string;
  readonly keyId: string;
  readonly imagesAllowed: boolean;
  /** Null: every model of the organization. */
  readonly modelIds: ReadonlySet<string> | null;
  /** Unix time from which the key is refused; 0: never. */
  readonly expiresAtMs: number;
}

export interface PrincipalsOptions {
  readonly authenticate: (orgTag: string, keyHash: Buffer) => Promise<Principal__Output | 'invalid' | null>;
  readonly ttlMs: number;
  readonly maxEntries: number;
  /** Unix time of this machine, which may be wrong: it is only reason to ask, never to refuse. */
  readonly nowMs: () => number;
  readonly monotonicMs: () => number;
}

interface Cached {
  readonly principal: Principal;
  readonly untilMs: number;
}

type Answer = Principal | 'invalid' | null;

/**
 * The keys seen lately, by their hash. It spares a question, never a check: whatever is admitted is checked again by the
 * limiter. Invalid keys are not kept, so that nobody fills it with guesses.
 */
export class Principals {
  readonly #options: PrincipalsOptions;
  readonly #cached: LRUCache<string, Cached>;
  readonly #asked = new Map<string, Promise<Answer>>();
  /** Counts what was dropped: an answer that was under way meanwhile may be stale and is not kept. */
  #generation = 0;

  constructor(options: PrincipalsOptions) {
    this.#options = options;
    this.#cached = new LRUCache({ max: options.maxEntries });
  }

  get size(): number {
    return this.#cached.size;
  }

  /** A value when it is known already. Null: the limiter could not be asked. */
  get(key: ParsedApiKey): Answer | Promise<Answer> {
    const id = key.hash.toString('latin1');
    const cached = this.#cached.get(id);
    if (!cached || this.#isStale(cached)) return this.#ask(id, key);
    return cached.principal;
  }

  /** The principal as of now, whatever is cached. */
  refresh(key: ParsedApiKey): Promise<Answer> {
    const id = key.hash.toString('latin1');
    this.#cached.delete(id);
    this.#asked.delete(id);
    return this.#ask(id, key);
  }

  dropKey(keyId: string): void {
    this.#drop((principal) => principal.keyId === keyId);
  }

  dropOrg(orgId: string): void {
    this.#drop((principal) => principal.orgId === orgId);
  }

  dropAll(): void {
    this.#drop(() => true);
  }

  #drop(matches: (principal: Principal) => boolean): void {
    this.#generation++;
    this.#asked.clear();
    for (const [id, { principal }] of [...this.#cached.entries()])
      if (matches(principal)) this.#cached.delete(id);
  }

  #ask(id: string, key: ParsedApiKey): Promise<Answer> {
    const asked = this.#asked.get(id);
    if (asked) return asked;
    const answer: Promise<Answer> = this.#fetch(id, key).finally(() => {
      if (this.#asked.get(id) === answer) this.#asked.delete(id);
    });
    this.#asked.set(id, answer);
    return answer;
  }

  async #fetch(id: string, { orgTag, hash }: ParsedApiKey): Promise<Answer> {
    const generation = this.#generation;
    const answer = await this.#options.authenticate(orgTag, hash);
    if (answer === null || answer === 'invalid') return answer;
    const principal: Principal = {
      orgId: answer.orgId,
      keyId: answer.keyId,
      imagesAllowed: answer.imagesAllowed,
      modelIds: answer.allModels ? null : new Set(answer.modelIds),
      expiresAtMs: answer.expiresAtMs,
    };
    const untilMs = this.#options.monotonicMs() + this.#options.ttlMs;
    if (generation === this.#generation) this.#cached.set(id, { principal, untilMs });
    return principal;
  }

  #isStale({ principal: { expiresAtMs }, untilMs }: Cached): boolean {
    if (untilMs <= this.#options.monotonicMs()) return true;
    return expiresAtMs > 0 && this.#options.nowMs() >= expiresAtMs;
  }
}
