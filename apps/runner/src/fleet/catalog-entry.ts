import { WIRE_CONDITIONS } from '@tidegate/contracts';
import type { CatalogEntry } from '../catalog/catalog.ts';
import type { ModelSpec } from '../catalog/spec.ts';
import { conditionOf, isWakeable, type State } from '../condition/machine.ts';
import type { ReplicaAddress } from '../drivers/driver.ts';

/** What is called, and the settings that belong to it. */
interface CalledReplicas {
  readonly settings: ModelSpec;
  readonly replicas: readonly ReplicaAddress[];
}

/** A model as gateways see it. Only running models have replicas. */
export function catalogEntry(
  spec: ModelSpec,
  state: State,
  { settings, replicas }: CalledReplicas,
): CatalogEntry {
  const { modelId, version, orgId, name, kind, mode, publishedAtMs } = spec;
  const { contextTokens, access } = settings;
  const condition = conditionOf(state);
  return {
    modelId,
    version,
    orgId,
    name,
    kind,
    mode,
    contextTokens,
    publishedAtMs,
    upstreamModel: access.name,
    upstreamKey: access.key,
    condition: WIRE_CONDITIONS[condition],
    reason: state.reason,
    wakeable: isWakeable(state, mode),
    replicas: condition === 'running' ? replicas.map(({ id, baseUrl }) => ({ replicaId: id, baseUrl })) : [],
  };
}
