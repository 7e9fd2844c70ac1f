import type { InstanceName, ServiceName } from './instances.ts';

export type Scalable = Exclude<ServiceName, 'console'>;

export interface StackOptions {
  /** The folder for data, logs and secrets. Default: `.local` in the checkout. */
  readonly dataDir?: string;
  /** Delete all data first. */
  readonly fresh?: boolean;
  /** How many processes of a service to run. Default: 1. */
  readonly scale?: Readonly<Partial<Record<Scalable, number>>>;
  /**
   * Ports of 127.0.0.1. Several gateways use consecutive ports. Default: 8080 and 3000. `random`:
   * any free ports.
   */
  readonly ports?: { readonly gateway?: number; readonly console?: number } | 'random';
  /** Run the console. Default: true, if this checkout has one. */
  readonly console?: boolean;
  /** Create the demo organization, its key and its models. Default: true. */
  readonly demo?: boolean;
  /** Run a Prometheus with the stack, if the machine or its packages have one. Default: false. */
  readonly observe?: boolean;
  /**
   * More variables for all of a service's processes, or for one of them (`limiter-2`). They
   * override those that the stack sets.
   */
  readonly env?: Readonly<Partial<Record<InstanceName, Readonly<Record<string, string>>>>>;
  /** Your own stores. Default: DATABASE_URL and REDIS_URL, or else stores that the stack starts. */
  readonly databaseUrl?: string;
  readonly redisUrl?: string;
  /** When the stack's own Redis forces its file to disk. Default: `everysec`. */
  readonly redisAppendfsync?: 'always' | 'everysec';
  /** The checkout whose programs to run. Default: the one that contains this file. */
  readonly root?: string;
  /** How long a process may take to end before it is killed. Default: 5 to 10 s, by service. */
  readonly stopTimeoutMs?: number;
  /** Aborts a start that is under way. */
  readonly signal?: AbortSignal;
  /** Receives what happens, as it happens. */
  readonly report?: StackReport;
}

export interface StackReport {
  /** Wraps each phase of a start. */
  phase?<T>(title: string, work: (note: (detail: string) => void) => Promise<T>): Promise<T>;
  /** A warning. It does not prevent the start. */
  warned?(text: string): void;
  /** A process died and is being started again. */
  died?(name: string, how: string): void;
  /** The process answers again. */
  recovered?(name: string): void;
}
