import type { InstanceName, ServiceName } from './services.ts';

export type Scalable = Exclude<ServiceName, 'console'>;

export interface StackOptions {
  /** Where data, logs and secrets are kept; default `.local` in the checkout. */
  readonly dataDir?: string;
  /** Forget all data first. */
  readonly fresh?: boolean;
  /** Processes of a service; default 1 each. */
  readonly scale?: Readonly<Partial<Record<Scalable, number>>>;
  /** Ports of 127.0.0.1; the first of consecutive ones for the gateways. Default 8080 and 3000; `random`: free ones. */
  readonly ports?: { readonly gateway?: number; readonly console?: number } | 'random';
  /** Make the demo organization, its key and its models; default true. */
  readonly demo?: boolean;
  /** More variables for a service's processes, or for one of them (`limiter-2`); they win over what the stack sets. */
  readonly env?: Readonly<Partial<Record<InstanceName, Readonly<Record<string, string>>>>>;
  /** Stores of your own; default DATABASE_URL and REDIS_URL of the environment, else the stack brings them. */
  readonly databaseUrl?: string;
  readonly redisUrl?: string;
  /** When the stack's own Redis forces its file to disk; default `everysec`. */
  readonly redisAppendfsync?: 'always' | 'everysec';
  /** Checkout whose programs are run; default the one this file is in. */
  readonly root?: string;
  /** How long a process may take to end before it is killed; default by service, 10 to 15 s. */
  readonly stopTimeoutMs?: number;
  /** Calls a start off that is under way. */
  readonly signal?: AbortSignal;
  /** Told what happens, for whoever watches. */
  readonly report?: StackReport;
}

export interface StackReport {
  /** Wraps each phase of a start. */
  phase?<T>(title: string, work: (note: (detail: string) => void) => Promise<T>): Promise<T>;
  /** Something to know that keeps nothing from starting. */
  warned?(text: string): void;
  /** A process died and is being started again. */
  died?(name: string, how: string): void;
  /** It answers again. */
  recovered?(name: string): void;
}
