import type { ModelSpec } from '../catalog/spec.ts';
import type { DownReplica, Driver, DriverReport, LeftBehind, ReplicaAddress } from '../drivers/driver.ts';

export type CreateDriver = (spec: ModelSpec, report: (report: DriverReport) => void) => Driver;

/**
 * The driver of one model, and the replicas that it reported last. When a new one takes over, the
 * one before is heard no more.
 */
export class ModelDriver {
  readonly #create: CreateDriver;
  readonly #report: (report: DriverReport) => void;
  #driver: Driver;
  #replicas: readonly ReplicaAddress[] = [];
  #total = 0;

  constructor(spec: ModelSpec, create: CreateDriver, report: (report: DriverReport) => void) {
    this.#create = create;
    this.#report = report;
    this.#driver = this.#createDriver(spec);
  }

  /** Those that can be called. */
  get replicas(): readonly ReplicaAddress[] {
    return this.#replicas;
  }

  /** With those that cannot be called. */
  get total(): number {
    return this.#total;
  }

  /** Those that cannot be called, as far as they are known one by one. */
  get down(): DownReplica[] {
    return this.#driver.down?.() ?? [];
  }

  leftBehind(): Promise<LeftBehind> {
    return this.#driver.leftBehind();
  }

  /** Takes over what already runs. */
  resume(): void {
    this.#driver.launch(true);
  }

  /** Launches with these settings, as if there had been no replicas. */
  launch(spec: ModelSpec): void {
    this.#replicas = [];
    this.replace(spec);
  }

  /** Launches with these settings. The replicas of before stay until the first report. */
  replace(spec: ModelSpec): void {
    this.#driver.release();
    this.#driver = this.#createDriver(spec);
    this.#driver.launch(false);
  }

  halt(): Promise<void> {
    return this.#driver.halt();
  }

  release(): void {
    this.#driver.release();
  }

  forget(): Promise<void> {
    return this.#driver.forget();
  }

  #createDriver(spec: ModelSpec): Driver {
    const driver = this.#create(spec, (report) => {
      if (driver !== this.#driver) return;
      if (report.type === 'up') {
        this.#replicas = report.replicas;
        this.#total = report.total ?? report.replicas.length;
      }
      this.#report(report);
    });
    return driver;
  }
}
