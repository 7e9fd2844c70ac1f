import type { CatalogEntry, CatalogSource } from '../catalog/catalog.ts';
import type { ConditionWriter } from '../catalog/condition-writer.ts';
import type { PersistedCondition } from '../catalog/spec.ts';

interface AnnouncerDeps {
  readonly catalog: CatalogSource;
  readonly writer: ConditionWriter;
  readonly nowMs: () => number;
}

type Shown = Pick<PersistedCondition, 'condition' | 'reason'>;

/** Tells gateways the state of one model, and Postgres each of its new conditions. */
export class Announcer {
  readonly #deps: AnnouncerDeps;
  #revision = 0;
  #persisted: PersistedCondition | null = null;

  constructor(deps: AnnouncerDeps) {
    this.#deps = deps;
  }

  /** The catalog's revision as of the last announcement. */
  get revision(): number {
    return this.#revision;
  }

  /** Notes the condition that Postgres has. */
  begin(persisted: PersistedCondition): void {
    this.#persisted = persisted;
  }

  announce(entry: CatalogEntry, { condition, reason }: Shown): void {
    const { catalog, writer, nowMs } = this.#deps;
    this.#revision = catalog.put(entry);
    const before = this.#persisted;
    if (before?.condition === condition && before.reason === reason) return;
    // A start that begins or stops waiting for room is still the same start.
    const isSame = condition === 'starting' && before?.condition === condition;
    this.#persisted = { condition, reason, atMs: isSame ? before.atMs : nowMs() };
    writer.write(entry.modelId, this.#persisted);
  }
}
