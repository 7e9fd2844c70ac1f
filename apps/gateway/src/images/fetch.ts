import type { LinkedImage, Refusal } from '@tidegate/contracts';
import { LIMITS } from '@tidegate/limits';
import { toDataUrlJson } from './data-url.ts';
import { type Download, download, type Resolve } from './download.ts';
import { createResolve } from './resolve.ts';
import { imageTypeOf } from './type.ts';

export interface ImageFetcherOptions {
  /** For one image, from its name's look-up to its last byte. */
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
  /** Over all requests whose images are being downloaded; beyond it requests are refused as busy. */
  readonly maxBufferedBytes?: number;
  readonly resolve?: Resolve;
  /** PEM; instead of the system's certificate authorities. */
  readonly ca?: string;
  /** Judges the addresses to connect to; public unicast only unless given. */
  readonly isAllowed?: (address: string) => boolean;
}

export type FetchedImages =
  | {
      readonly ok: true;
      /** By the links' index: each a JSON string, quotes included, that holds a data URL of the image's real type. */
      readonly dataUrls: Buffer[];
    }
  | { readonly ok: false; readonly refusal: Refusal };

export interface ImageFetcher {
  /** Downloads a request's linked images (at most 4) side by side; the first that fails ends the others. Rejects when aborted. */
  fetchAll(links: readonly LinkedImage[], signal: AbortSignal): Promise<FetchedImages>;
  /** Aborts what is under way; its callers' promises reject. */
  close(): void;
}

const DEFAULTS = {
  timeoutMs: LIMITS.imageTimeoutMs,
  maxBytes: LIMITS.imageMaxBytes,
  maxBufferedBytes: 400_000_000,
};

type Fetched =
  | { readonly ok: true; readonly dataUrl: Buffer }
  | { readonly ok: false; readonly refusal: Refusal };

export function createImageFetcher(options: ImageFetcherOptions = {}): ImageFetcher {
  const { timeoutMs, maxBytes, maxBufferedBytes } = { ...DEFAULTS, ...options };
  const resolve = options.resolve ?? createResolve();
  const open = new Set<AbortController>();
  let buffered = 0;

  async function fetchOne(
    link: LinkedImage,
    claim: (bytes: number) => boolean,
    signal: AbortSignal,
  ): Promise<Fetched> {
    const deadline = abortableBy(signal);
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      deadline.controller.abort();
    }, timeoutMs);
    try {
      const all = { ...options, resolve, maxBytes, claim };
      const got = await download(link.url, all, deadline.controller.signal);
      clearTimeout(timer);
      return await judged(link, got);
    } catch (error) {
      if (!late || signal.aborted) throw error;
      return refused(link, `did not download within ${timeoutMs / 1_000} seconds`);
    } finally {
      clearTimeout(timer);
      deadline.release();
    }
  }

  async function fetchAll(links: readonly LinkedImage[], signal: AbortSignal): Promise<FetchedImages> {
    const { controller, release } = abortableBy(signal);
    open.add(controller);
    const refusals: Refusal[] = [];
    let claimed = 0;
    const claim = (bytes: number): boolean => {
      if (buffered + bytes > maxBufferedBytes) return false;
      buffered += bytes;
      claimed += bytes;
      return true;
    };
    const fetching = links.map(async (link) => {
      const one = await fetchOne(link, claim, controller.signal);
      if (one.ok) return one.dataUrl;
      refusals.push(one.refusal);
      controller.abort();
      return NONE;
    });
    try {
      await Promise.allSettled(fetching);
      const [refusal] = refusals;
      if (refusal !== undefined) return { ok: false, refusal };
      return { ok: true, dataUrls: await Promise.all(fetching) };
    } finally {
      buffered -= claimed;
      open.delete(controller);
      release();
    }
  }

  return {
    fetchAll,
    close: () => {
      for (const controller of open) controller.abort();
    },
  };
}

const NONE = Buffer.alloc(0);

/** A controller that follows `signal` until released. */
function abortableBy(signal: AbortSignal): { controller: AbortController; release: () => void } {
  const controller = new AbortController();
  const follow = (): void => controller.abort(signal.reason);
  if (signal.aborted) follow();
  else signal.addEventListener('abort', follow);
  return { controller, release: () => signal.removeEventListener('abort', follow) };
}

async function judged(link: LinkedImage, got: Download): Promise<Fetched> {
  if (!got.ok) return 'busy' in got ? { ok: false, refusal: BUSY } : refused(link, got.problem);
  const type = await imageTypeOf(got.body);
  if (type === null) return refused(link, 'is not a PNG, JPEG, WebP or GIF image');
  return { ok: true, dataUrl: await toDataUrlJson(got.body, type) };
}

const refused = ({ path }: LinkedImage, problem: string): Fetched => ({
  ok: false,
  refusal: { code: 'invalid_request', message: `${path}: the image ${problem}.` },
});

const BUSY: Refusal = {
  code: 'rate_limit_exceeded',
  message: 'The API is busy: too many images are being downloaded.',
  retryAfterS: 1,
};
