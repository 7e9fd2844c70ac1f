import { readFileSync } from 'node:fs';
import type { Stack } from '@tidegate/local';
import type { GarbageCollector } from './garbage.ts';
import { pause } from './random.ts';

const EVERY_MS = 500;
/**
 * How much more memory is accepted after an outage. A runtime keeps some of the memory that it once
 * had, in partly used pages.
 */
const KEPT_FACTOR = 1.15;
const KEPT_MB = 20;
const KINDS = ['gateway', 'limiter', 'metering'] as const;

type Kind = (typeof KINDS)[number];
type Moment = 'before' | 'during' | 'after';
type Megabytes = Record<Kind, number>;

/**
 * The memory of the services through an outage, in MB by kind of service (its processes together).
 * Garbage is collected before and after, so that only memory in use counts.
 */
export class Memory {
  readonly #stack: Stack;
  readonly #collector: GarbageCollector;
  readonly #resident = new Map<Moment, Megabytes>();
  readonly #heap = new Map<Moment, Megabytes>();
  #watching = false;
  #running = true;
  readonly #done: Promise<void>;

  constructor(stack: Stack, collector: GarbageCollector) {
    this.#stack = stack;
    this.#collector = collector;
    this.#done = this.#run();
  }

  async markBefore(): Promise<void> {
    await this.#collect('before');
    this.#resident.set('during', this.#read());
    this.#watching = true;
  }

  async markAfter(): Promise<void> {
    this.#watching = false;
    await this.#collect('after');
  }

  async stop(): Promise<void> {
    this.#running = false;
    await this.#done;
  }

  violations(): string[] {
    const of = (what: string, values: ReadonlyMap<Moment, Megabytes>) =>
      KINDS.flatMap((kind) => {
        const [before, after] = [values.get('before')?.[kind] ?? 0, values.get('after')?.[kind] ?? 0];
        const kept = after <= before * KEPT_FACTOR + KEPT_MB;
        return kept
          ? []
          : [`${what} of ${kind}: ${Math.round(before)} MB before, ${Math.round(after)} after`];
      });
    return [...of('memory', this.#resident), ...of('heap', this.#heap)];
  }

  /**
   * The resident memory as `before > highest during > after`, and the used heap as `before >
   * after`.
   */
  figures(): Record<string, string> {
    const of = (values: ReadonlyMap<Moment, Megabytes>, kind: Kind) =>
      (['before', 'during', 'after'] as const)
        .flatMap((moment) => values.get(moment)?.[kind] ?? [])
        .map(Math.round)
        .join(' > ');
    return Object.fromEntries(
      KINDS.map((kind) => [`${kind} MB`, `${of(this.#resident, kind)} (heap ${of(this.#heap, kind)})`]),
    );
  }

  async #run(): Promise<void> {
    while (this.#running) {
      await pause(EVERY_MS);
      const highest = this.#resident.get('during');
      if (!this.#watching || !highest) continue;
      const now = this.#read();
      for (const kind of KINDS) highest[kind] = Math.max(highest[kind], now[kind]);
    }
  }

  async #collect(moment: 'before' | 'after'): Promise<void> {
    const heap = none();
    for (const { kind, pid } of this.#processes()) heap[kind] += await this.#collector.collect(pid);
    this.#heap.set(moment, heap);
    this.#resident.set(moment, this.#read());
  }

  #read(): Megabytes {
    const sums = none();
    for (const { kind, pid } of this.#processes()) sums[kind] += residentMb(pid);
    return sums;
  }

  #processes(): { readonly kind: Kind; readonly pid: number }[] {
    return this.#stack.info.services.flatMap(({ name, pid }) =>
      KINDS.filter((kind) => kind === name).map((kind) => ({ kind, pid })),
    );
  }
}

const none = (): Megabytes => ({ gateway: 0, limiter: 0, metering: 0 });

function residentMb(pid: number): number {
  try {
    const kb = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
    return Math.round(kb / 1_024);
  } catch {
    return 0;
  }
}
