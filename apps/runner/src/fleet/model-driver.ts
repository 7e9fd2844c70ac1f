import type { ModelSpec } from '../catalog/spec.ts';
import type {
  DownReplica,
  Driver,
  DriverReport,
  IsTaken,
  LeftBehind,
  ReplicaAddress,
} from '../drivers/driver.ts';
import { isSameServer } from '../drivers/settings.ts';

export type CreateDriver = (spec: ModelSpec, report: (report: DriverReport) => void) => Driver;

/**
 * The driver of one model, and the replicas that it last reported, with the settings by which they
 * are called. When a new driver takes over, reports of the previous one are ignored.
 */
export class ModelDriver {
  readonly #create: CreateDriver;
  readonly #report: (report: DriverReport) => void;
  #driver: Driver;
  /** Resolves once replaced drivers can start nothing more. Null: none was replaced by a change. */
  #released: Promise<unknown> | null = null;
  #isLaunched = false;
  /** It is not known yet whether the model runs. */
  #isFinding = false;
  /** As last changed. */
  #spec: ModelSpec;
  /** The settings of what is launched. */
  #settings: ModelSpec;
  #replicas: readonly ReplicaAddress[] = [];
  #total = 0;
  #waitsFor = '';

  constructor(spec: ModelSpec, create: CreateDriver, report: (report: DriverReport) => void) {
    this.#create = create;
    this.#report = report;
    this.#spec = spec;
    this.#settings = spec;
    this.#driver = this.#createDriver(spec);
  }

  /** Whether it runs the model or looks for it. */
  get isLaunched(): boolean {
    return this.#isLaunched;
  }

  /**
   * The settings that belong to the replicas, or to those of the next launch. A key or a name must
   * never go to servers for which another one was given.
   */
  get settings(): ModelSpec {
    return this.#isLaunched ? this.#settings : this.#spec;
  }

  /** Those that can be called. */
  get replicas(): readonly ReplicaAddress[] {
    return this.#replicas;
  }

  /** How many there are, including those that cannot be called. */
  get total(): number {
    return this.#total;
  }

  /** What a launch is waiting for, as far as the driver has said. */
  get waitsFor(): string {
    return this.#waitsFor;
  }

  /** Those that cannot be called, as far as the driver knows them individually. */
  get down(): DownReplica[] {
    return this.#driver.down?.() ?? [];
  }

  leftBehind(withinMs: number): Promise<LeftBehind> {
    return this.#driver.leftBehind(withinMs);
  }

  /** Looks for a model that may or may not be running. Starts nothing. */
  find(): void {
    this.#isLaunched = true;
    this.#isFinding = true;
    this.#begin();
  }

  /** Takes over what already runs. */
  resume(): void {
    this.#isLaunched = true;
    this.#driver.launch(true);
  }

  /** Launches as if there had been no replicas. */
  launch(): void {
    this.#replicas = [];
    this.#settings = this.#spec;
    this.#isFinding = false;
    this.#replace();
  }

  /**
   * Takes over changed settings. A process continues as it was started, and is called with the key
   * and the name that belong to its command. Other servers are looked for immediately; the previous
   * replicas stay until the first report.
   */
  change(spec: ModelSpec): void {
    this.#spec = spec;
    if (!this.#isLaunched) return;
    const isProcess = this.#isProcess;
    const isSame = isSameServer(this.#settings.driver, spec.driver);
    if (isSame || !(isProcess || this.#replicas.length > 0)) this.#settings = spec;
    if (!isProcess) {
      this.#released = Promise.all([this.#released, this.#driver.release()]);
      this.#replace(isSame);
    } else if (isSame) this.#driver.change?.(spec.access);
  }

  async halt(isTaken?: IsTaken): Promise<void> {
    this.#isLaunched = false;
    this.#waitsFor = '';
    this.#isFinding = false;
    void this.#driver.release();
    // What the replaced drivers are still starting must have started before it can be ended.
    if (this.#released) await this.#released;
    await this.#driver.halt(isTaken);
  }

  release(): void {
    this.#isLaunched = false;
    void this.#driver.release();
  }

  forget(): Promise<void> {
    return this.#driver.forget();
  }

  get #isProcess(): boolean {
    return this.#settings.driver.driver === 'process';
  }

  /** @param isSame whether the new driver has the same servers as the previous one */
  #replace(isSame = false): void {
    void this.#driver.release();
    this.#waitsFor = '';
    this.#driver = this.#createDriver(this.#spec);
    this.#isLaunched = true;
    if (isSame && this.#replicas.length > 0 && this.#driver.takeOver)
      this.#driver.takeOver(this.#replicas, this.#total);
    else this.#begin();
  }

  #begin(): void {
    if (this.#isFinding && this.#driver.find) this.#driver.find();
    else this.#driver.launch(false);
  }

  #createDriver(spec: ModelSpec): Driver {
    const driver = this.#create(spec, (report) => {
      if (driver !== this.#driver) return;
      this.#waitsFor = report.type === 'waiting' ? report.reason : '';
      if (report.type === 'waiting') return this.#report(report);
      if (!this.#isProcess) this.#settings = spec;
      if (report.type !== 'down') this.#isFinding = false;
      if (report.type === 'off') this.#isLaunched = false;
      this.#replicas = report.type === 'up' ? report.replicas : [];
      if (report.type === 'up') this.#total = report.total ?? report.replicas.length;
      this.#report(report);
    });
    return driver;
  }
}
