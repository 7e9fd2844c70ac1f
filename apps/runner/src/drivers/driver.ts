import type { UpstreamAccess } from './upstream-access.ts';

/** One server that answers for a model. */
export interface ReplicaAddress {
  /** Stays the same for the same address. */
  readonly id: string;
  /** Ends in `/v1`. */
  readonly baseUrl: string;
}

/** A replica that cannot be called now. */
export interface DownReplica {
  readonly baseUrl: string;
  /** For users. It contains no content and no secret. */
  readonly reason: string;
}

/**
 * Why a start waits while what is left of the last run ends. For users. Empty: nothing is ever
 * left.
 */
export const WAITS_FOR_LAST_RUN = {
  external: '',
  unusable: '',
  process: 'Waiting for its old process to end.',
  kubernetes: 'Waiting for its old pods to end.',
} as const;

export type DriverReport =
  /**
   * The launch goes on, but for now `reason` keeps the model from starting. Reported again when it
   * changes. Empty: nothing keeps it from starting any more. The reason is for users. It contains
   * no content and no secret.
   */
  | { readonly type: 'waiting'; readonly reason: string }
  /**
   * The model can be called at these replicas, at least one. Reported again whenever they change.
   */
  | {
      readonly type: 'up';
      readonly replicas: readonly ReplicaAddress[];
      /** How many there are, including those that cannot be called. Default: only these. */
      readonly total?: number;
    }
  /**
   * The model cannot be called. `watching`: the driver keeps probing and may report again, `up` or
   * another reason. Otherwise this is its last report until the next launch. The reason is for
   * users. It contains no content and no secret.
   */
  | {
      readonly type: 'down';
      readonly reason: string;
      /**
       * The last lines that the process printed before it was first ready. For those who manage the
       * model. Never logged.
       */
      readonly printed?: string;
      readonly watching: boolean;
    }
  /**
   * No replica is left, but whoever keeps the model running is bringing them back. This is the
   * driver's last report until the next launch, which waits for them.
   */
  | { readonly type: 'restarting' }
  /** `find` has found that the model is off. This is the driver's last report until a launch. */
  | { readonly type: 'off' };

/**
 * What exists of a model before this runner launches anything. `process`: a process or workload
 * that runs. `pending`: a workload that is switched on and has no replica yet. `unknown`: a
 * workload that could not be looked at in time. `remains`: what is left of a process that has ended
 * or was told to end, or pods of a workload that is off; it must be halted before a launch.
 * `remote`: a server that someone else runs. `nothing`: none of these.
 */
export type LeftBehind = 'process' | 'pending' | 'unknown' | 'remains' | 'remote' | 'nothing';

/**
 * Whether the workload of a deleted model now belongs to another model. Rejects when that is
 * unknown.
 */
export type IsTaken = () => Promise<boolean>;

/** Starts, watches and ends one model. */
export interface Driver {
  /**
   * Finds out what an earlier runner left behind. Resolves within about `withinMs`, even if whoever
   * it asks does not answer: gateways are waiting.
   */
  leftBehind(withinMs: number): Promise<LeftBehind>;
  /**
   * Starts the model, or starts looking for it, and reports on it. `resumed`: the model was running
   * under an earlier runner. Then `launch` reports it as up before it returns, and keeps it up
   * until a probe says otherwise.
   */
  launch(resumed: boolean): void;
  /**
   * Takes over the replicas that a driver with other settings ran, like a resumed launch. Absent:
   * an ordinary launch finds them.
   */
  takeOver?(replicas: readonly ReplicaAddress[], total: number): void;
  /**
   * For a model that may or may not be running. Reports on it as `launch` does, but never starts
   * it: whether it may start is not decided yet. Absent: `leftBehind` always knows.
   */
  find?(): void;
  /**
   * Uses another upstream key and name for what it has launched, and soon reports if calls cannot
   * work with them. Absent: a new driver takes over.
   */
  change?(access: UpstreamAccess): void;
  /**
   * Ends the model and everything it started, in bounded time. Nothing is reported after this is
   * called. Rejects when something is left. A workload that is taken is left as it is. `isTaken` is
   * asked before each change to it.
   */
  halt(isTaken?: IsTaken): Promise<void>;
  /**
   * Stops watching. The model stays as it is. Resolves, in bounded time, once no start that is
   * under way can still take effect.
   */
  release(): Promise<void>;
  /** Removes the files kept for a deleted model. Call it only after `halt`. */
  forget(): Promise<void>;
  /** The replicas that cannot be called now. Absent: the driver does not know them individually. */
  down?(): DownReplica[];
}

/** Durations in milliseconds. Pauses between probes vary by up to a fifth. */
export interface DriverTimings {
  /**
   * Between two probes of a starting model. Waiting requests are forwarded this soon after it is
   * ready.
   */
  readonly startProbeMs: number;
  /** Between two probes of a healthy replica. */
  readonly probeMs: number;
  /**
   * Between two probes of a replica that failed its last probe. For a remote it doubles with each
   * further failure.
   */
  readonly retryProbeMs: number;
  /** The longest pause between two probes of a remote, however long it has been failing. */
  readonly maxRetryProbeMs: number;
  readonly probeTimeoutMs: number;
  /** Failed probes in a row after which a process counts as lost. */
  readonly probesToLose: number;
  /**
   * Failed probes in a row after which a replica is left out, and after which a process that
   * answers counts as one that cannot be called.
   */
  readonly probesToEject: number;
  /** A remote has failed if it has not answered this long after its launch. */
  readonly remoteGraceMs: number;
  /** Between SIGTERM and SIGKILL. */
  readonly stopGraceMs: number;
  /** How long to wait for the end of a process after SIGKILL. */
  readonly killGraceMs: number;
  /**
   * How long to wait for the end of the output of a process that has ended. Its children may keep
   * it open.
   */
  readonly outputEndMs: number;
  /** Between two checks of an adopted process. */
  readonly exitPollMs: number;
  /** Between two checks of the pods of a starting workload. */
  readonly podPollMs: number;
  /**
   * How long something must keep a workload's pods from starting before the start counts as failed,
   * or before it is logged if it may pass.
   */
  readonly podProblemMs: number;
  /** Between two checks of how many replicas a running workload should have. */
  readonly countMs: number;
  /** How long Kubernetes must refuse a right before a start fails because of it. */
  readonly forbiddenMs: number;
  /** Before a failed call to Kubernetes is tried again. It doubles with each further failure. */
  readonly apiRetryMs: number;
  readonly maxApiRetryMs: number;
  /**
   * How long the pods of a workload that was scaled to 0 may take to end, on top of their grace
   * period.
   */
  readonly scaleDownMs: number;
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
  outputEndMs: 500,
  exitPollMs: 500,
  podPollMs: 2_000,
  podProblemMs: 20_000,
  countMs: 10_000,
  forbiddenMs: 5_000,
  apiRetryMs: 500,
  maxApiRetryMs: 15_000,
  scaleDownMs: 30_000,
};
