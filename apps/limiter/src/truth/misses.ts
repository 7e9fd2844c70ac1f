/**
 * What Postgres was found not to know, for a few seconds: guessed key values do not become queries. A key just made is never in here, for
 * nobody can have asked for its value before; and a write-through forgets the organization's all the same.
 */
export class Misses {
  readonly #untilMs = new Map<string, number>();
  readonly #max: number;
  readonly #keepMs: number;
  readonly #nowMs: () => number;

  constructor(options: { readonly max: number; readonly keepMs: number; readonly nowMs?: () => number }) {
    this.#max = options.max;
    this.#keepMs = options.keepMs;
    this.#nowMs = options.nowMs ?? (() => performance.now());
  }

  add(name: string): void {
    this.#untilMs.delete(name);
    this.#untilMs.set(name, this.#nowMs() + this.#keepMs);
    if (this.#untilMs.size <= this.#max) return;
    const oldest = this.#untilMs.keys().next().value;
    if (oldest !== undefined) this.#untilMs.delete(oldest);
  }

  has(name: string): boolean {
    const untilMs = this.#untilMs.get(name);
    if (untilMs === undefined) return false;
    if (untilMs > this.#nowMs()) return true;
    this.#untilMs.delete(name);
    return false;
  }

  clear(): void {
    this.#untilMs.clear();
  }
}
