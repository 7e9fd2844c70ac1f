/** The largest share one organization may hold, so that it cannot lock out the others. */
const BYTES_ORG_SHARE = 1 / 4;

/** Bounds the memory that all requests hold together. Callers give back what they take. */
export class ByteBudget {
  readonly #maxBytes: number;
  #taken = 0;
  /** Bytes held per organization. Organizations that hold nothing have no entry. */
  readonly #takenByOrg = new Map<string, number>();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes held by all requests. */
  get taken(): number {
    return this.#taken;
  }

  /** Returns false, taking nothing, if the bytes are not available now. */
  take(orgId: string, bytes: number): boolean {
    const ofOrg = (this.#takenByOrg.get(orgId) ?? 0) + bytes;
    if (this.#taken + bytes > this.#maxBytes || ofOrg > this.#maxBytes * BYTES_ORG_SHARE) return false;
    this.#taken += bytes;
    this.#takenByOrg.set(orgId, ofOrg);
    return true;
  }

  release(orgId: string, bytes: number): void {
    const left = (this.#takenByOrg.get(orgId) ?? 0) - bytes;
    this.#taken -= bytes;
    if (left > 0) this.#takenByOrg.set(orgId, left);
    else this.#takenByOrg.delete(orgId);
  }
}
