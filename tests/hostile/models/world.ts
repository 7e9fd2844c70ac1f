import type { Control } from '@tidegate/control';
import type { Db } from '@tidegate/db';
import { eventually, generousPlan } from '@tidegate/testing';
import { must, OPERATOR, openControl, type Reachable } from '../../support/control.ts';

export const CONTEXT_TOKENS = 1_000;
/**
 * The organization's requests at once. Each slot has its own key, which allows one request at once.
 */
export const SLOTS = 12;

/** A request as metering wrote it. */
export interface Row {
  readonly answered: boolean;
  readonly errorCode: string | null;
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  readonly reservedTokens: number;
  readonly chargedTokens: number;
}

/** An organization with one key per slot, and what its operator can see. */
export class World {
  readonly gateway: string;
  readonly #control: Control;
  readonly #db: Db;
  readonly #close: () => Promise<void>;
  org = '';
  keys: string[] = [];

  constructor(stack: Reachable) {
    const { control, db, close } = openControl(stack);
    this.gateway = stack.info.gateway;
    this.#db = db;
    this.#control = control;
    this.#close = close;
  }

  async setUp(): Promise<void> {
    const plan = { ...generousPlan(), name: 'Hostile', requestsAtOnce: SLOTS };
    must(await this.#control.setPlan(OPERATOR, plan));
    this.org = must(await this.#control.createOrg(OPERATOR, { name: 'Hostile', plan: plan.name })).slug;
    for (let i = 0; i < SLOTS; i++) {
      const wish = { org: this.org, name: `Slot ${i}`, requestsPerMinute: 6_000, requestsAtOnce: 1 };
      this.keys.push(must(await this.#control.createKey(OPERATOR, wish)).key);
    }
  }

  /** Resolves when the model is running. */
  async publish(name: string, urls: string[]): Promise<void> {
    const model = must(
      await this.#control.publishModel(OPERATOR, {
        org: this.org,
        name,
        kind: 'text',
        mode: 'always_on',
        contextTokens: CONTEXT_TOKENS,
        urls,
      }),
    );
    await eventually(
      async () => (await this.#db.model.findUnique({ where: { id: model.id } }))?.condition === 'running',
    );
  }

  /**
   * The rows by reservation, once there are `count` of them. After a time-out, those that there
   * are.
   */
  async rows(count: number): Promise<Map<string, Row>> {
    const { id: orgId } = await this.#db.org.findUniqueOrThrow({ where: { slug: this.org } });
    const read = () => this.#db.request.findMany({ where: { orgId } });
    const patience = { timeoutMs: 120_000, intervalMs: 250 };
    const rows = await eventually(
      async () => (await this.#db.request.count({ where: { orgId } })) >= count,
      patience,
    )
      .then(read)
      .catch(read);
    return new Map(rows.map((row) => [row.reservationId, row]));
  }

  close(): Promise<void> {
    return this.#close();
  }
}
