import type { Random } from '../world/random.ts';

export interface Outcome {
  readonly violations: readonly string[];
  /** How much was tried, in the scenario's unit. */
  readonly trials: number;
  /** More measurements, for the reader. */
  readonly notes?: string;
  /** Measurements for the report's second table, by column. */
  readonly figures?: Readonly<Record<string, string | number>>;
}

/**
 * A way to attack a law. Each run has its own stack. Its seed determines it, as far as a machine
 * allows.
 */
export interface Scenario {
  /** Names the scenario on the command line and in records. */
  readonly id: string;
  readonly name: string;
  readonly laws: string;
  /** What `trials` counts. */
  readonly unit: string;
  run(random: Random, size: 'short' | 'long'): Promise<Outcome>;
}
