import { type ServerUnaryCall, type ServiceError, status } from '@grpc/grpc-js';
import { WIRE_CONDITIONS } from '@tidegate/contracts';
import { driverSettings, type KubernetesSettings } from '@tidegate/contracts/driver-settings';
import type {
  ModelRequest__Output,
  ModelState,
  RunnerHandlers,
  WakeRequest__Output,
  WatchRequest__Output,
} from '@tidegate/rpc';
import type { Logger } from '@tidegate/runtime';
import type { Tracing } from '@tidegate/tracing';
import type { CatalogSource } from '../catalog/catalog.ts';
import type { CheckedWorkload } from '../drivers/kubernetes/check.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { ModelStatus } from '../fleet/model-status.ts';
import { Feed } from '../watch/feed.ts';
import type { Gateways } from '../watch/gateways.ts';
import { type InspectOptions, inspectHandler } from './inspect.ts';
import { Status, toStatus, UNKNOWN_MODEL } from './status.ts';
import { traceWake, wakingRequestOf } from './wakes.ts';

export interface HandlersOptions {
  readonly fleet: Fleet;
  readonly catalog: CatalogSource;
  readonly gateways: Gateways;
  readonly inspection: Omit<InspectOptions, 'logger'>;
  readonly logger: Logger;
  /** Null: off. */
  readonly tracing: Tracing | null;
  readonly checkWorkload: (settings: KubernetesSettings) => Promise<CheckedWorkload>;
}

/**
 * The runner's calls. An unknown model is NOT_FOUND. What the runner cannot do right now is
 * UNAVAILABLE.
 */
export function createHandlers({
  fleet,
  catalog,
  gateways,
  inspection,
  logger,
  tracing,
  checkWorkload,
}: HandlersOptions): RunnerHandlers {
  const unary = unaryWith(logger);
  return {
    Wake: unary(async (modelId, signal, request: WakeRequest__Output) => {
      const woken = await traceWake(tracing, request, () =>
        fleet.wake(modelId, signal, wakingRequestOf(request)),
      );
      if (woken === undefined) throw UNKNOWN_MODEL();
      if (woken === 'busy')
        throw new Status(status.RESOURCE_EXHAUSTED, 'too many callers are waiting for this model');
      if (woken === null) throw new Status(status.CANCELLED, 'the wait was ended');
      return toState(woken);
    }),
    Start: unary((modelId) => command(fleet, modelId, 'start')),
    Stop: unary((modelId) => command(fleet, modelId, 'stop')),
    Refresh: unary(async (modelId) => {
      const refreshed = await fleet.refresh(modelId);
      if (refreshed.published) return toState(refreshed.status);
      return { modelId, condition: 'CONDITION_UNSPECIFIED', reason: '', revision: refreshed.revision };
    }),
    CheckWorkload: ({ request }, callback) => {
      const { success, data } = driverSettings.kubernetes.safeParse(request);
      if (!success) {
        callback(new Status(status.INVALID_ARGUMENT, 'not a workload'));
        return;
      }
      checkWorkload(data).then(
        (checked) => callback(null, checked),
        (err: unknown) => callback(toStatus(err, logger)),
      );
    },
    ListActivity: ({ request: { orgId } }, callback) => {
      const models = [...gateways.inFlight()]
        .filter(([modelId]) => catalog.get(modelId)?.orgId === orgId)
        .map(([modelId, inFlight]) => ({ modelId, inFlight }));
      callback(null, { models, replicas: fleet.replicas(orgId) });
    },
    GetRoom: (_call, callback) => callback(null, { room: fleet.room() }),
    Inspect: inspectHandler({ ...inspection, logger }),
    Watch: watchHandler(gateways, catalog),
  };
}

/** Answers calls about one model. The signal aborts when the caller is gone. */
const unaryWith =
  (logger: Logger) =>
  <Q extends ModelRequest__Output>(
    answer: (modelId: string, signal: AbortSignal, request: Q) => Promise<ModelState>,
  ) =>
  (
    call: ServerUnaryCall<Q, ModelState>,
    callback: (error: Partial<ServiceError> | null, state?: ModelState) => void,
  ): void => {
    const gone = new AbortController();
    call.on('cancelled', () => gone.abort());
    answer(call.request.modelId, gone.signal, call.request).then(
      (state) => callback(null, state),
      (err: unknown) => callback(toStatus(err, logger)),
    );
  };

const watchHandler =
  (gateways: Gateways, catalog: CatalogSource): RunnerHandlers['Watch'] =>
  (call) => {
    const link = gateways.connect();
    const feed = new Feed(catalog, call);
    const close = () => {
      feed.close();
      link.close();
    };
    call.on('data', (report: WatchRequest__Output) => link.report(report));
    call.on('end', () => {
      close();
      call.end();
    });
    call.on('cancelled', close);
    call.on('error', close);
    call.on('close', close);
  };

async function command(fleet: Fleet, modelId: string, wish: 'start' | 'stop'): Promise<ModelState> {
  const commanded = await fleet.command(modelId, wish);
  if (!commanded) throw UNKNOWN_MODEL();
  return toState(commanded);
}

const toState = ({ modelId, condition, reason, revision }: ModelStatus): ModelState => ({
  modelId,
  reason,
  revision,
  condition: WIRE_CONDITIONS[condition],
});
