import { readFileSync } from 'node:fs';
import type { Stack } from '@tidegate/local';
import { pause } from './random.ts';

const EVERY_MS = 500;
/** What "it comes back" forgives: a runtime keeps some of the memory that it once had. */
const KEPT_FACTOR = 1.25;
const KEPT_MB = 60;
const KINDS = ['gateway', 'limiter', 'metering'] as const;

type Kind = (typeof KINDS)[number];
type Moment = 'before' | 'during' | 'after';

/** Resident megabytes of the services through an outage, by kind of service: processes of one kind added up. */
export class Memory {
  readonly #stack: Stack;
  readonly #marks = new Map<Moment, Record<Kind, number>>();
  #during = false;
  #running = true;
  readonly #done: Promise<void>;

  constructor(stack: Stack) {
    this.#stack = stack;
    this.#done = this.#run();
  }

  /** `during`: the highest from now on, until `after`. */
  mark(moment: Moment): void {
    this.#during = moment === 'during';
    this.#marks.set(moment, this.#read());
  }

  async stop(): Promise<void> {
    this.#running = false;
    await this.#done;
  }

  violations(): string[] {
    return KINDS.flatMap((kind) => {
      const before = this.#marks.get('before')?.[kind] ?? 0;
      const after = this.#marks.get('after')?.[kind] ?? 0;
      return after <= before * KEPT_FACTOR + KEPT_MB ? [] : [`${kind}: ${before} MB before, ${after} after`];
    });
  }

  /** `before > highest during > after`, MB. */
  figures(): Record<string, string> {
    const of = (kind: Kind) =>
      (['before', 'during', 'after'] as const).map((moment) => this.#marks.get(moment)?.[kind]).join(' > ');
    return Object.fromEntries(KINDS.map((kind) => [`${kind} MB`, of(kind)]));
  }

  async #run(): Promise<void> {
    while (this.#running) {
      await pause(EVERY_MS);
      const highest = this.#marks.get('during');
      if (!this.#during || !highest) continue;
      const now = this.#read();
      for (const kind of KINDS) highest[kind] = Math.max(highest[kind], now[kind]);
    }
  }

  #read(): Record<Kind, number> {
    const sums = { gateway: 0, limiter: 0, metering: 0 };
    for (const { name, pid } of this.#stack.info.services)
      if (name in sums) sums[name as Kind] += residentMb(pid);
    return sums;
  }
}

function residentMb(pid: number): number {
  try {
    const kb = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
    return Math.round(kb / 1_024);
  } catch {
    return 0;
  }
}
