import type { Logger } from '@tidegate/runtime';
import type { Tracing } from '@tidegate/tracing';
import type { Dispatcher } from 'undici';
import type { AuthDeps } from './auth/authenticate.ts';
import type { ByteBudget } from './body/byte-budget.ts';
import type { Parser } from './body/parse.ts';
import type { Activity } from './catalog/activity.ts';
import type { Catalog } from './catalog/catalog.ts';
import type { Replicas } from './catalog/replicas.ts';
import type { Waker } from './catalog/wake.ts';
import type { Config } from './config.ts';
import type { Exchanges } from './http/exchange.ts';
import type { ImageFetcher } from './images/fetch.ts';
import type { RemoteLimiter } from './limiter/remote-limiter.ts';
import type { LoopTurns } from './loop-turns.ts';
import type { Observer } from './observe/observer.ts';

/** What request handlers work with. */
export interface Gateway extends AuthDeps {
  readonly config: Config;
  readonly limiter: RemoteLimiter;
  readonly catalog: Catalog;
  readonly activity: Activity;
  readonly waker: Waker;
  readonly replicas: Replicas;
  readonly upstream: Dispatcher;
  readonly parser: Pick<Parser, 'parse' | 'refused'>;
  readonly images: ImageFetcher;
  /** Bounds the memory that request bodies and linked images hold together. */
  readonly bodyBudget: ByteBudget;
  /** Shares the main thread's time for reading request bodies among organizations. */
  readonly readTurns: LoopTurns;
  readonly exchanges: Exchanges;
  readonly observer: Observer;
  /** Null: off. */
  readonly tracing: Tracing | null;
  readonly log: Logger;
  /** Unix time. */
  readonly nowMs: () => number;
}
