import type { Driver, DriverReport, LeftBehind } from './driver.ts';

/** For a model that no driver can run. Every launch fails with the reason. */
export class UnusableDriver implements Driver {
  readonly #reason: string;
  readonly #report: (report: DriverReport) => void;

  constructor(reason: string, report: (report: DriverReport) => void) {
    this.#reason = reason;
    this.#report = report;
  }

  async leftBehind(): Promise<LeftBehind> {
    return 'nothing';
  }

  launch(): void {
    this.#report({ type: 'down', reason: this.#reason, watching: false });
  }

  async halt(): Promise<void> {}
  async release(): Promise<void> {}
  async forget(): Promise<void> {}
}
