import type { V1EndpointSlice } from '@kubernetes/client-node';
import { pause } from '../../pause.ts';
import { apiPauseMs } from '../backoff.ts';
import type { DriverTimings } from '../driver.ts';
import { type ApiError, GONE, type KubernetesApi, type WatchEvent } from './api.ts';

export interface FollowOptions {
  readonly api: KubernetesApi;
  readonly namespace: string;
  readonly service: string;
  readonly timings: DriverTimings;
  readonly random: () => number;
  /** Called with all EndpointSlices of the Service whenever they change. */
  readonly onSlices: (slices: readonly V1EndpointSlice[]) => void;
  /** Called when they cannot be read. They are read again after a while. */
  readonly onError: (error: ApiError) => void;
}

/** More slices than this are not kept. A Service with 64 pods has one or two. */
const MAX_KEPT = 500;

/**
 * Lists the EndpointSlices of a Service, then watches them, until the signal is aborted. Never
 * rejects. While they cannot be read, those that were last seen count.
 */
export async function followEndpoints(options: FollowOptions, signal: AbortSignal): Promise<void> {
  const { timings, random, onError } = options;
  let failures = 0;
  while (!signal.aborted) {
    try {
      await listAndWatch(options, signal, () => {
        failures = 0;
      });
    } catch (error) {
      if (signal.aborted) return;
      failures++;
      // A version that is too old does no harm: the next list shows what was missed.
      if ((error as ApiError).status !== GONE) onError(error as ApiError);
    }
    await pause(apiPauseMs(failures, timings, random), signal);
  }
}

/** Rejects when a list or a watch fails. */
async function listAndWatch(
  { api, namespace, service, timings, random, onSlices }: FollowOptions,
  signal: AbortSignal,
  onProgress: () => void,
): Promise<void> {
  const { slices, resourceVersion } = await api.endpointSlices(namespace, service, signal);
  const kept = new Map(slices.map((slice) => [nameOf(slice), slice]));
  let version = resourceVersion;
  onSlices([...kept.values()]);
  const take = ({ type, object }: WatchEvent) => {
    onProgress();
    version = object.metadata?.resourceVersion ?? version;
    if (type === 'BOOKMARK') return;
    if (type === 'DELETED') kept.delete(nameOf(object));
    else if (kept.has(nameOf(object)) || kept.size < MAX_KEPT) kept.set(nameOf(object), object);
    onSlices([...kept.values()]);
  };
  for (let quiet = 0; !signal.aborted; ) {
    const before = version;
    await api.watchEndpointSlices({ namespace, service, resourceVersion: version }, take, signal);
    // Servers end a watch after some time. One that always ends it immediately must not be asked
    // again immediately.
    quiet = version === before ? quiet + 1 : 1;
    await pause(apiPauseMs(quiet, timings, random), signal);
  }
}

const nameOf = ({ metadata }: V1EndpointSlice): string => metadata?.name ?? '';
