import type { CompletionRequest, Refusal } from '@tidegate/contracts';
import type { Dispatcher } from 'undici';
import type { Doorkeeper } from '../auth/authenticate.ts';
import type { Activity } from '../catalog/activity.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Replicas } from '../catalog/replicas.ts';
import type { Waker } from '../catalog/wake.ts';
import type { Config } from '../config.ts';
import type { Exchanges } from '../http/exchange.ts';
import type { Limiter } from '../limiter/limiter.ts';
import type { Observer } from '../observe/observer.ts';
import type { ByteBudget } from './byte-budget.ts';

export interface Parser {
  parse(
    body: Buffer,
    orgId: string,
  ): Promise<
    | { readonly ok: true; readonly request: CompletionRequest }
    | { readonly ok: false; readonly refusal: Refusal }
  >;
}

export interface ImageFetcher {
  fetchAll(
    links: CompletionRequest['linkedImages'],
    /** Asked before bytes are kept; a refusal refuses the request. */
    claim: (bytes: number) => Refusal | null,
    signal: AbortSignal,
  ): Promise<
    | { readonly ok: true; readonly dataUrls: readonly Buffer[] }
    | { readonly ok: false; readonly refusal: Refusal }
  >;
}

/** What a request is served with. */
export interface Gateway extends Doorkeeper {
  readonly config: Config;
  readonly limiter: Limiter;
  readonly catalog: Catalog;
  readonly activity: Activity;
  readonly waker: Waker;
  readonly replicas: Replicas;
  readonly upstream: Dispatcher;
  readonly parser: Parser;
  readonly images: ImageFetcher;
  /** What request bodies and linked images may hold together. */
  readonly bodyBudget: ByteBudget;
  readonly exchanges: Exchanges;
  readonly observer: Observer;
  /** Unix time. */
  readonly nowMs: () => number;
}
