import type { LinkedImage, Refusal } from '@tidegate/contracts';
import { LIMITS } from '@tidegate/limits';
import { dataUrlJsonBytes, toDataUrlJson } from './data-url.ts';
import { type Download, type DownloadOptions, download, type Resolve } from './download.ts';
import { createResolve } from './resolve.ts';
import { imageTypeOf } from './type.ts';

export interface ImageFetcherOptions {
  /** For one image, from its name's look-up to its last byte. */
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
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

/** Asked before bytes are kept; a refusal refuses the request. The caller owns what it claims, whatever becomes of the images. */
export type Claim = DownloadOptions['claim'];

export interface ImageFetcher {
  /**
   * Downloads a request's linked images (at most 4) side by side; the first that fails ends the others. What comes is claimed
   * piece by piece, and then what its data URL takes beyond it. Rejects when aborted. Claims nothing once it is settled.
   */
  fetchAll(links: readonly LinkedImage[], claim: Claim, signal: AbortSignal): Promise<FetchedImages>;
  /** Aborts what is under way; its callers' promises reject. */
  close(): void;
}

const DEFAULTS = {
  timeoutMs: LIMITS.imageTimeoutMs,
  maxBytes: LIMITS.imageMaxBytes,
};

type Fetched =
  | { readonly ok: true; readonly dataUrl: Buffer }
  | { readonly ok: false; readonly refusal: Refusal };

export function createImageFetcher(options: ImageFetcherOptions = {}): ImageFetcher {
  const { timeoutMs, maxBytes } = { ...DEFAULTS, ...options };
  const resolve = options.resolve ?? createResolve();
  const open = new Set<AbortController>();

  async function fetchOne(link: LinkedImage, claim: Claim, signal: AbortSignal): Promise<Fetched> {
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
      return await judged(link, got, claim);
    } catch (error) {
      if (!late || signal.aborted) throw error;
      return refused(link, `did not download within ${timeoutMs / 1_000} seconds`);
    } finally {
      clearTimeout(timer);
      deadline.release();
    }
  }

  async function fetchAll(
    links: readonly LinkedImage[],
    claim: Claim,
    signal: AbortSignal,
  ): Promise<FetchedImages> {
    const { controller, release } = abortableBy(signal);
    open.add(controller);
    const refusals: Refusal[] = [];
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

async function judged(link: LinkedImage, got: Download, claim: Claim): Promise<Fetched> {
  if (!got.ok) return 'refusal' in got ? got : refused(link, got.problem);
  const type = await imageTypeOf(got.body);
  if (type === null) return refused(link, 'is not a PNG, JPEG, WebP or GIF image');
  const refusal = claim(dataUrlJsonBytes(got.body.length, type) - got.body.length);
  if (refusal) return { ok: false, refusal };
  return { ok: true, dataUrl: await toDataUrlJson(got.body, type) };
}

const refused = ({ path }: LinkedImage, problem: string): Fetched => ({
  ok: false,
  refusal: { code: 'invalid_request', message: `${path}: the image ${problem}.` },
});
