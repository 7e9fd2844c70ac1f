import type { Random } from '../world/random.ts';

export interface Outcome {
  readonly violations: readonly string[];
  /** What was tried, in the scenario's own unit. */
  readonly trials: number;
  /** Measured beside, for the reader. */
  readonly notes?: string;
  /** Measured too, for the second table of the report: by column. */
  readonly figures?: Readonly<Record<string, string | number>>;
}

/** A way to attack a law. Each run has a stack of its own and is determined by its seed, as far as a machine is. */
export interface Scenario {
  /** For the command line and the records. */
  readonly id: string;
  readonly name: string;
  readonly laws: string;
  /** What `trials` counts. */
  readonly unit: string;
  run(random: Random, size: 'short' | 'long'): Promise<Outcome>;
}
