import type { Metric, Registry } from 'prom-client';

type Labels = Readonly<Record<string, string>>;
interface Sample {
  readonly value: number;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly metricName?: string;
}

interface CellsOptions<L extends string> {
  readonly registry: Registry;
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly L[];
  /** Called before the series are read, for example to drop some. */
  readonly collect?: () => void;
}

/** One series of a counter. Whoever holds it adds to `value`. */
export interface CounterCell {
  value: number;
}

/**
 * A metric whose series are looked up once. prom-client builds a string from all labels each time
 * it counts; on a hot path that costs more than the counting.
 */
abstract class Cells<L extends string, C> {
  abstract readonly type: 'counter' | 'histogram';
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly L[];
  readonly #collect: () => void;
  protected readonly cells = new Map<string, { readonly labels: Labels; readonly cell: C }>();

  constructor({ registry, name, help, labelNames = [], collect = () => {} }: CellsOptions<L>) {
    this.name = name;
    this.help = help;
    this.labelNames = labelNames;
    this.#collect = collect;
    // The registry needs only a metric's name and `get`.
    registry.registerMetric(this as unknown as Metric);
  }

  /**
   * The series with these label values, given in the order of the labels' names. It starts at zero.
   */
  cell(...values: string[]): C {
    const key = JSON.stringify(values);
    let entry = this.cells.get(key);
    if (!entry) {
      const labels = Object.fromEntries(this.labelNames.map((name, i) => [name, values[i] ?? '']));
      entry = { labels, cell: this.create() };
      this.cells.set(key, entry);
    }
    return entry.cell;
  }

  /** Drops every series whose label values begin with these. */
  drop(...first: string[]): void {
    for (const [key, { labels }] of this.cells)
      if (first.every((value, i) => labels[this.labelNames[i] as string] === value)) this.cells.delete(key);
  }

  /** For the registry. */
  async get(): Promise<{ name: string; help: string; type: string; values: Sample[]; aggregator: 'sum' }> {
    this.#collect();
    const values = [...this.cells.values()].flatMap(({ labels, cell }) => this.samples(labels, cell));
    return { name: this.name, help: this.help, type: this.type, values, aggregator: 'sum' };
  }

  protected abstract create(): C;
  protected abstract samples(labels: Labels, cell: C): Sample[];
}

export class CounterCells<L extends string = never> extends Cells<L, CounterCell> {
  readonly type = 'counter';

  protected create = (): CounterCell => ({ value: 0 });
  protected samples = (labels: Labels, { value }: CounterCell): Sample[] => [{ labels, value }];
}

/** One series of a histogram. */
export class HistogramCell {
  readonly bounds: readonly number[];
  readonly counts: number[];
  sum = 0;

  /** @param bounds the buckets' upper bounds, ascending */
  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = [...bounds.map(() => 0), 0];
  }

  observe(value: number): void {
    const { bounds, counts } = this;
    let i = 0;
    while (i < bounds.length && value > (bounds[i] as number)) i++;
    (counts[i] as number) += 1;
    this.sum += value;
  }
}

export class HistogramCells<L extends string = never> extends Cells<L, HistogramCell> {
  readonly type = 'histogram';
  readonly #bounds: readonly number[];

  constructor(options: CellsOptions<L> & { readonly buckets: readonly number[] }) {
    super(options);
    this.#bounds = options.buckets;
  }

  protected create(): HistogramCell {
    return new HistogramCell(this.#bounds);
  }

  protected samples(labels: Labels, { bounds, counts, sum }: HistogramCell): Sample[] {
    const samples: Sample[] = [];
    const metricName = `${this.name}_bucket`;
    let count = 0;
    for (const [i, more] of counts.entries()) {
      count += more;
      samples.push({ metricName, labels: { le: bounds[i] ?? '+Inf', ...labels }, value: count });
    }
    samples.push({ metricName: `${this.name}_sum`, labels, value: sum });
    samples.push({ metricName: `${this.name}_count`, labels, value: count });
    return samples;
  }
}
