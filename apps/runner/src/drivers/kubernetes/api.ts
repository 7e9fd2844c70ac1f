import type { IncomingMessage } from 'node:http';
import type {
  CoreV1Event,
  V1EndpointSlice,
  V1Pod,
  V1Scale,
  V2HorizontalPodAutoscaler,
} from '@kubernetes/client-node';
import type { KubernetesSettings } from '@tidegate/contracts/driver-settings';
import { withDeadline } from '@tidegate/runtime';
import { LRUCache } from 'lru-cache';
import { type ApiCall, type Connection, CredentialsError } from './connection.ts';
import { linesOf, readBounded } from './read-lines.ts';

/** What can be scaled. */
export type Workload = Pick<KubernetesSettings, 'namespace' | 'kind' | 'name'>;

export interface WatchEvent {
  readonly type: string;
  readonly object: V1EndpointSlice & { readonly code?: number };
}

/**
 * An answer other than a success. The message is the API server's, or says why there was no answer.
 */
export class ApiError extends Error {
  /** 0: there was no answer. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export const CONFLICT = 409;
export const GONE = 410;

/** Whether this runner still leads. See `Lead`. */
export interface Leading {
  readonly lost: AbortSignal;
  holds(): boolean;
}

export interface ApiTimings {
  /** For a call other than a watch, including its whole answer. */
  readonly callMs: number;
  /** How long the server is asked to keep a watch open. */
  readonly watchMs: number;
  /** How much longer than that a watch may take before it counts as dead. */
  readonly watchGraceMs: number;
}

export const API_TIMINGS: ApiTimings = { callMs: 10_000, watchMs: 240_000, watchGraceMs: 15_000 };

/** The most items of a list that are read. */
const MAX_SLICES = 500;
const MAX_PODS = 50;
const MAX_EVENTS = 100;
const MAX_AUTOSCALERS = 500;
/** The most workloads whose pods can be found after their deletion: those seen last. */
const MAX_SELECTORS = 10_000;
const MAX_BODY_BYTES = 8 * 1024 * 1024;

/**
 * The part of the Kubernetes API that the driver uses. Every failure is an `ApiError`. The calls
 * need the rights in `infra/kubernetes/model-namespace/role.yaml`.
 */
export class KubernetesApi {
  /** Aborted when this runner no longer leads. From then on it changes nothing. */
  readonly lost: AbortSignal;
  readonly #connection: Pick<Connection, 'send'>;
  readonly #lead: Leading;
  readonly #timings: ApiTimings;
  /** The labels of the pods of each workload that was seen, by its path. */
  readonly #selectors = new LRUCache<string, string>({ max: MAX_SELECTORS });

  constructor(connection: Pick<Connection, 'send'>, lead: Leading, timings: ApiTimings = API_TIMINGS) {
    this.#connection = connection;
    this.#lead = lead;
    this.lost = lead.lost;
    this.#timings = timings;
  }

  async scale(workload: Workload, signal: AbortSignal): Promise<V1Scale> {
    const path = scalePath(workload);
    const scale = await this.#json<V1Scale>({ method: 'GET', path }, signal);
    if (scale.status?.selector) this.#selectors.set(path, scale.status.selector);
    return scale;
  }

  /**
   * Selects the pods of a workload, even after it was deleted. Undefined: it was not seen lately.
   */
  selectorOf(workload: Workload): string | undefined {
    return this.#selectors.get(scalePath(workload));
  }

  /** Fails with CONFLICT when the workload has changed since `scale` was read. */
  setScale(workload: Workload, scale: V1Scale, signal: AbortSignal): Promise<V1Scale> {
    const maySend = () => !signal.aborted && this.#lead.holds();
    return this.#json({ method: 'PUT', path: scalePath(workload), body: scale, maySend }, signal);
  }

  async endpointSlices(
    namespace: string,
    service: string,
    signal: AbortSignal,
  ): Promise<{ slices: V1EndpointSlice[]; resourceVersion: string }> {
    const list = await this.#list<V1EndpointSlice>(
      slicesPath(namespace),
      { labelSelector: ofService(service), limit: String(MAX_SLICES) },
      signal,
    );
    return { slices: list.items, resourceVersion: list.resourceVersion };
  }

  /**
   * Resolves when the server ends the watch, or when it should have. Fails with GONE when the
   * version is too old.
   */
  async watchEndpointSlices(
    { namespace, service, resourceVersion }: { namespace: string; service: string; resourceVersion: string },
    onEvent: (event: WatchEvent) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { watchMs, watchGraceMs } = this.#timings;
    const query = {
      labelSelector: ofService(service),
      resourceVersion,
      watch: 'true',
      allowWatchBookmarks: 'true',
      timeoutSeconds: String(Math.ceil(watchMs / 1_000)),
    };
    const call = { method: 'GET', path: slicesPath(namespace), query } as const;
    await this.#within(watchMs + watchGraceMs, signal, async (limited, expired) => {
      try {
        const answer = await this.#send(call, limited);
        for await (const line of linesOf(answer, MAX_BODY_BYTES)) onEvent(eventOf(line));
      } catch (error) {
        // The connection died silently. The next watch continues where this one stopped.
        if (!expired()) throw error;
      }
    });
  }

  /** Pods that have not ended for good. Kubernetes keeps evicted ones for a long time. */
  livePods(namespace: string, selector: string, signal: AbortSignal): Promise<V1Pod[]> {
    return this.#pods(namespace, selector, 'status.phase!=Failed,status.phase!=Succeeded', signal);
  }

  failedPods(namespace: string, selector: string, signal: AbortSignal): Promise<V1Pod[]> {
    return this.#pods(namespace, selector, 'status.phase=Failed', signal);
  }

  async #pods(namespace: string, selector: string, fields: string, signal: AbortSignal): Promise<V1Pod[]> {
    const query = { labelSelector: selector, fieldSelector: fields, limit: String(MAX_PODS) };
    return (await this.#list<V1Pod>(`/api/v1/namespaces/${namespace}/pods`, query, signal)).items;
  }

  async warnings(namespace: string, fields: string, signal: AbortSignal): Promise<CoreV1Event[]> {
    const query = { fieldSelector: `type=Warning,${fields}`, limit: String(MAX_EVENTS) };
    return (await this.#list<CoreV1Event>(`/api/v1/namespaces/${namespace}/events`, query, signal)).items;
  }

  async autoscalers(namespace: string, signal: AbortSignal): Promise<V2HorizontalPodAutoscaler[]> {
    const path = `/apis/autoscaling/v2/namespaces/${namespace}/horizontalpodautoscalers`;
    return (await this.#list<V2HorizontalPodAutoscaler>(path, { limit: String(MAX_AUTOSCALERS) }, signal))
      .items;
  }

  async #list<T>(path: string, query: Record<string, string>, signal: AbortSignal) {
    const list = await this.#json<{ items?: T[]; metadata?: { resourceVersion?: string } }>(
      { method: 'GET', path, query },
      signal,
    );
    return { items: list.items ?? [], resourceVersion: list.metadata?.resourceVersion ?? '' };
  }

  #json<T>(call: ApiCall, signal: AbortSignal): Promise<T> {
    return this.#within(this.#timings.callMs, signal, async (limited) => {
      const answer = await this.#send(call, limited);
      return parse<T>(await readBounded(answer, MAX_BODY_BYTES));
    });
  }

  async #send(call: ApiCall, signal: AbortSignal): Promise<IncomingMessage> {
    const answer = await this.#connection.send(call, signal);
    const status = answer.statusCode ?? 0;
    if (status >= 200 && status < 300) return answer;
    throw new ApiError(status, messageOf(await readBounded(answer, MAX_BODY_BYTES), status));
  }

  /** Ends the work after `limitMs`, and turns every failure into an `ApiError`. */
  #within<T>(
    limitMs: number,
    signal: AbortSignal,
    work: (signal: AbortSignal, expired: () => boolean) => Promise<T>,
  ): Promise<T> {
    return withDeadline(limitMs, signal, async (limited, expired) => {
      try {
        return await work(limited, expired);
      } catch (error) {
        if (error instanceof ApiError) throw error;
        if (error instanceof CredentialsError) throw new ApiError(0, error.message);
        const { code, message } = error as NodeJS.ErrnoException;
        throw new ApiError(0, expired() ? 'no answer in time' : (code ?? message));
      }
    });
  }
}

const scalePath = ({ namespace, kind, name }: Workload): string =>
  `/apis/apps/v1/namespaces/${namespace}/${kind}s/${name}/scale`;

const slicesPath = (namespace: string): string =>
  `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;

const ofService = (service: string): string => `kubernetes.io/service-name=${service}`;

function eventOf(line: string): WatchEvent {
  const event = parse<WatchEvent>(line);
  if (event.type !== 'ERROR') return event;
  throw new ApiError(event.object.code ?? 0, 'the watch was ended with an error');
}

function parse<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch {
    throw new ApiError(0, 'its answer is not JSON');
  }
}

const MAX_MESSAGE_LENGTH = 300;

/** What the API server says about a failure, or only its status. */
function messageOf(body: string, status: number): string {
  try {
    const { message } = JSON.parse(body) as { message?: unknown };
    if (typeof message === 'string' && message !== '') return message.slice(0, MAX_MESSAGE_LENGTH);
  } catch {
    // A proxy's page, for example.
  }
  return `HTTP ${status}`;
}
