/** No organization may hold more than this part of what there is: one alone must not keep the others out. */
const ORG_SHARE = 1 / 4;

/** Memory that requests may hold together; whoever takes gives back. */
export class ByteBudget {
  readonly #maxBytes: number;
  #taken = 0;
  /** Organizations that hold something. */
  readonly #takenByOrg = new Map<string, number>();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** False: not now; nothing was taken. */
  take(orgId: string, bytes: number): boolean {
    const ofOrg = (this.#takenByOrg.get(orgId) ?? 0) + bytes;
    if (this.#taken + bytes > this.#maxBytes || ofOrg > this.#maxBytes * ORG_SHARE) return false;
    this.#taken += bytes;
    this.#takenByOrg.set(orgId, ofOrg);
    return true;
  }

  giveBack(orgId: string, bytes: number): void {
    const left = (this.#takenByOrg.get(orgId) ?? 0) - bytes;
    this.#taken -= bytes;
    if (left > 0) this.#takenByOrg.set(orgId, left);
    else this.#takenByOrg.delete(orgId);
  }
}
