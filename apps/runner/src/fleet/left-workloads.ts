import type { Logger } from '@tidegate/runtime';
import type { ModelStore } from '../catalog/store.ts';
import type { IsTaken } from '../drivers/driver.ts';

export interface LeftWorkloadsDeps {
  readonly store: Pick<ModelStore, 'leftAfter' | 'leftWorkload' | 'forgetWorkload'>;
  /**
   * Scales down a workload that a deleted model left, unless it is taken. Rejects when that cannot
   * be done.
   */
  readonly endWorkload: (settings: unknown, isTaken: IsTaken) => Promise<void>;
  readonly logger: Logger;
}

/** The workloads of models that were deleted, perhaps while no runner led. */
export class LeftWorkloads {
  readonly #deps: LeftWorkloadsDeps;
  #clearing: Promise<void> | null = null;

  constructor(deps: LeftWorkloadsDeps) {
    this.#deps = deps;
  }

  /** Resolves when no workload is being scaled down. Never rejects. */
  async cleared(): Promise<void> {
    await this.#clearing;
  }

  /**
   * Begins to scale them down one after the other, unless that is already under way. One that
   * cannot be scaled down is left for the next call.
   *
   * @param before what must have ended first
   */
  clear(before: Promise<unknown>, ending: AbortSignal): void {
    this.#clearing ??= before
      .then(() => this.#clearAll(ending))
      .finally(() => {
        this.#clearing = null;
      });
  }

  /**
   * Whether the workload of a model that was removed here has a new owner by now: another model, or
   * another pool if the model has only moved. Rejects when that cannot be found out.
   */
  async isTaken(modelId: string): Promise<boolean> {
    const left = await this.#deps.store.leftWorkload(modelId);
    return left === null || left.taken;
  }

  async #clearAll(ending: AbortSignal): Promise<void> {
    let modelIds: string[];
    for (let last = ''; ; last = modelIds.at(-1) ?? '') {
      modelIds = await this.#deps.store.leftAfter(last).catch(() => []);
      if (modelIds.length === 0) return;
      for (const modelId of modelIds) {
        if (ending.aborted) return;
        await this.#clear(modelId);
      }
    }
  }

  async #clear(modelId: string): Promise<void> {
    const { store, endWorkload, logger } = this.#deps;
    try {
      const left = await store.leftWorkload(modelId);
      if (left) await endWorkload(left.settings, () => this.isTaken(modelId));
      await store.forgetWorkload(modelId);
    } catch (err) {
      logger.warn({ err, modelId }, "a deleted model's workload could not be scaled down");
    }
  }
}
