import { isRefusal, type ParsedApiKey, type Refusal } from '@tidegate/contracts';
import type { Principal__Output } from '@tidegate/rpc';
import { LRUCache } from 'lru-cache';

/** Who is calling: one key of one organization, at most `ttlMs` out of date. */
export interface Principal {
  readonly orgId: string;
  readonly keyId: string;
  readonly imagesAllowed: boolean;
  /** Null means every model of the organization. */
  readonly modelIds: ReadonlySet<string> | null;
  /** Unix time from which the key is refused. 0 means never. */
  readonly expiresAtMs: number;
}

export const mayCall = ({ modelIds }: Principal, modelId: string): boolean =>
  modelIds === null || modelIds.has(modelId);

export interface PrincipalsOptions {
  readonly authenticate: (orgTag: string, keyHash: Buffer) => Promise<Principal__Output | Refusal>;
  readonly ttlMs: number;
  readonly maxEntries: number;
  /**
   * Unix time of this machine. It may be wrong, so it can only cause another call to the limiter,
   * never a refusal.
   */
  readonly nowMs: () => number;
  readonly monotonicMs: () => number;
}

type PrincipalOrRefusal = Principal | Refusal;

interface Check {
  readonly answer: Promise<PrincipalOrRefusal>;
  /** The check that follows. It starts once `answer` has arrived. */
  next: Promise<PrincipalOrRefusal> | null;
}

/**
 * Caches recently seen keys by hash. The cache saves a call to the limiter but never replaces a
 * check: the limiter checks the key of every admission again. Invalid keys are not cached, so
 * guesses cannot fill the cache.
 */
export class Principals {
  readonly #options: PrincipalsOptions;
  readonly #cached: LRUCache<string, Principal>;
  readonly #pending = new Map<string, Promise<PrincipalOrRefusal>>();
  readonly #checks = new Map<string, Check>();
  /**
   * Incremented with each drop. An answer that was requested before a drop may be stale, so it is
   * not cached.
   */
  #generation = 0;

  constructor(options: PrincipalsOptions) {
    this.#options = options;
    this.#cached = new LRUCache({
      max: options.maxEntries,
      ttl: options.ttlMs,
      // Read the clock at every look-up. By default the library keeps a reading until a timer drops
      // it.
      ttlResolution: 0,
      perf: { now: options.monotonicMs },
    });
  }

  get size(): number {
    return this.#cached.size;
  }

  /** Returns a plain value if the key is cached, otherwise a promise. */
  get(key: ParsedApiKey): PrincipalOrRefusal | Promise<PrincipalOrRefusal> {
    const id = key.hash.toString('latin1');
    const cached = this.#cached.get(id);
    if (!cached || this.#isExpired(cached)) return this.#load(id, key);
    return cached;
  }

  /**
   * Asks for the current principal, whatever is cached. Each key has one check under way at a time.
   * Callers who come meanwhile share the next one, so that none of them gets an answer that was
   * requested before it called.
   */
  check(key: ParsedApiKey): Promise<PrincipalOrRefusal> {
    const id = key.hash.toString('latin1');
    const current = this.#checks.get(id);
    if (!current) return this.#check(id, key);
    current.next ??= current.answer.then(() => this.#check(id, key));
    return current.next;
  }

  #check(id: string, key: ParsedApiKey): Promise<PrincipalOrRefusal> {
    const check: Check = { answer: this.#fetch(id, key), next: null };
    this.#checks.set(id, check);
    void check.answer.then(() => {
      if (this.#checks.get(id) === check) this.#checks.delete(id);
    });
    return check.answer;
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
    this.#pending.clear();
    for (const [id, principal] of [...this.#cached.entries()])
      if (matches(principal)) this.#cached.delete(id);
  }

  #load(id: string, key: ParsedApiKey): Promise<PrincipalOrRefusal> {
    const asked = this.#pending.get(id);
    if (asked) return asked;
    const answer: Promise<PrincipalOrRefusal> = this.#fetch(id, key).finally(() => {
      if (this.#pending.get(id) === answer) this.#pending.delete(id);
    });
    this.#pending.set(id, answer);
    return answer;
  }

  async #fetch(id: string, { orgTag, hash }: ParsedApiKey): Promise<PrincipalOrRefusal> {
    const generation = this.#generation;
    const answer = await this.#options.authenticate(orgTag, hash);
    if (isRefusal(answer)) {
      if (answer.code === 'invalid_api_key') this.#cached.delete(id);
      return answer;
    }
    const principal: Principal = {
      orgId: answer.orgId,
      keyId: answer.keyId,
      imagesAllowed: answer.imagesAllowed,
      modelIds: answer.allModels ? null : new Set(answer.modelIds),
      expiresAtMs: answer.expiresAtMs,
    };
    if (generation === this.#generation) this.#cached.set(id, principal);
    return principal;
  }

  #isExpired({ expiresAtMs }: Principal): boolean {
    return expiresAtMs > 0 && this.#options.nowMs() >= expiresAtMs;
  }
}
