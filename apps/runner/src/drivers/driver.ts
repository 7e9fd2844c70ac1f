/** One place that answers for a model. */
export interface Replica {
  /** Stable as long as the address is. */
  readonly id: string;
  /** Ends in `/v1`. */
  readonly baseUrl: string;
}

export type DriverReport =
  /** The model answers at these replicas, at least one. Reported again whenever they change. */
  | { readonly type: 'up'; readonly replicas: readonly Replica[] }
  /**
   * It cannot be called any more, or never could. `watching`: the driver goes on looking and may report again, `up` or another
   * reason; otherwise this was its last word until the next launch. The reason is for people; it holds no content, no secret.
   */
  | {
      readonly type: 'down';
      readonly reason: string;
      /** The last lines it printed before it was first ready: for whoever manages the model, and for no log. */
      readonly printed?: string;
      readonly watching: boolean;
    };

/**
 * What of a model is there before anything was launched by this runner: a process; what is left of one that has ended or was
 * told to, to be halted before any launch; a remote that nobody here has to keep alive; nothing.
 */
export type Held = 'process' | 'remains' | 'remote' | 'nothing';

/** Where one model runs, and how it is started and ended there. */
export interface Driver {
  /** What an earlier runner left. */
  held(): Promise<Held>;
  /**
   * Begins to start the model, or to look for it, and reports how that goes on. `resumed`: it was running under an earlier
   * runner and is taken to be up, reported so within this call, until a probe says otherwise.
   */
  launch(resumed: boolean): void;
  /** Ends the model and all it left, in bounded time. Nothing is reported from here on. Rejects when something is left. */
  halt(): Promise<void>;
  /** Stops watching and leaves the model as it is. */
  release(): void;
  /** Removes what is kept about a model that is deleted. Only after `halt`. */
  forget(): Promise<void>;
}

/** How long things take. Milliseconds; waits between probes are jittered by a fifth. */
export interface DriverTimings {
  /** Between two probes of a model that is starting: a waiting request is forwarded this soon after it is ready. */
  readonly startProbeMs: number;
  /** Between two probes of a healthy replica. */
  readonly probeMs: number;
  /** Between two probes of a replica that failed its last one; of a remote it doubles with each further failure. */
  readonly retryProbeMs: number;
  /** Most there is between two probes of a remote replica, however long it has been failing. */
  readonly maxRetryProbeMs: number;
  readonly probeTimeoutMs: number;
  /** Failed probes in a row after which a process counts as lost. */
  readonly probesToLose: number;
  /** Failed probes in a row after which a remote replica is left out. */
  readonly probesToEject: number;
  /** A remote without any answer this long after its launch has failed. */
  readonly remoteGraceMs: number;
  /** Between SIGTERM and SIGKILL. */
  readonly stopGraceMs: number;
  /** How long the end is awaited after SIGKILL. */
  readonly killGraceMs: number;
  /** Between two looks at an adopted process. */
  readonly exitPollMs: number;
}

export const DRIVER_TIMINGS: DriverTimings = {
  startProbeMs: 50,
  probeMs: 5_000,
  retryProbeMs: 1_000,
  maxRetryProbeMs: 30_000,
  probeTimeoutMs: 10_000,
  probesToLose: 3,
  probesToEject: 2,
  remoteGraceMs: 15_000,
  stopGraceMs: 10_000,
  killGraceMs: 5_000,
  exitPollMs: 500,
};
