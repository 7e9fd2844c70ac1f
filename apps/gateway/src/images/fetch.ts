import { isRefusal, type LinkedImage, newRefusal, type Refusal } from '@tidegate/contracts';
import { LIMITS } from '@tidegate/limits';
import { withDeadline } from '@tidegate/runtime';
import { dataUrlJsonBytes, toDataUrlJson } from './data-url.ts';
import { type Download, type DownloadOptions, download, type Resolve } from './download.ts';
import { imageTypeOf } from './type.ts';

export interface ImageFetcherOptions {
  /** For one image, from the look-up of its host name to its last byte. */
  readonly timeoutMs: number;
  readonly maxBytes?: number;
  readonly resolve: Resolve;
  /** Certificate authorities (PEM) to trust instead of the system's. */
  readonly ca?: string;
  /** Whether to connect to an address. */
  readonly isAllowed: (address: string) => boolean;
}

/**
 * The linked images, in the order of the links. Each is a JSON string, quotes included: a data URL
 * with the image's real type.
 */
export type DataUrls = readonly Buffer[];

/**
 * Called before bytes are kept. If it refuses, the request is refused. The caller owns what it
 * claims, whatever becomes of the images.
 */
export type Claim = DownloadOptions['claim'];

export interface ImageFetcher {
  /**
   * Downloads a request's linked images (at most 4) in parallel. The first failure ends the others.
   * Claims memory for each piece as it arrives, then for what the data URL needs in addition. Once
   * settled, it claims nothing more. Rejects when aborted.
   */
  fetchAll(links: readonly LinkedImage[], claim: Claim, signal: AbortSignal): Promise<DataUrls | Refusal>;
}

export function createImageFetcher(options: ImageFetcherOptions): ImageFetcher {
  const { timeoutMs, maxBytes = LIMITS.imageMaxBytes } = options;

  async function fetchOne(link: LinkedImage, claim: Claim, signal: AbortSignal): Promise<Buffer | Refusal> {
    const got = await withDeadline(timeoutMs, signal, async (limited, expired): Promise<Download> => {
      try {
        return await download(link.url, { ...options, maxBytes, claim }, limited);
      } catch (error) {
        if (!expired() || signal.aborted) throw error;
        return { problem: `could not be downloaded within ${timeoutMs / 1_000} seconds` };
      }
    });
    return dataUrlOf(link, got, claim);
  }

  async function fetchAll(
    links: readonly LinkedImage[],
    claim: Claim,
    signal: AbortSignal,
  ): Promise<DataUrls | Refusal> {
    const { controller, release } = abortableBy(signal);
    const refusals: Refusal[] = [];
    const fetching = links.map(async (link) => {
      const one = await fetchOne(link, claim, controller.signal);
      if (!isRefusal(one)) return one;
      refusals.push(one);
      controller.abort();
      return NONE;
    });
    try {
      await Promise.allSettled(fetching);
      const [refusal] = refusals;
      return refusal ?? (await Promise.all(fetching));
    } finally {
      release();
    }
  }

  return { fetchAll };
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

async function dataUrlOf(link: LinkedImage, got: Download, claim: Claim): Promise<Buffer | Refusal> {
  if (isRefusal(got)) return got;
  if ('problem' in got) return refused(link, got.problem);
  const type = imageTypeOf(got);
  if (type === null) return refused(link, 'is not a PNG, JPEG, WebP or GIF image');
  const room = claim(dataUrlJsonBytes(got.length, type) - got.length);
  return isRefusal(room) ? room : toDataUrlJson(got, type);
}

const refused = ({ path }: LinkedImage, problem: string): Refusal =>
  newRefusal({ code: 'invalid_request', message: `${path}: the image ${problem}.` });
