import { isIP, type LookupFunction } from 'node:net';
import type { Readable } from 'node:stream';
import { isRefusal, type Passed, type Refusal } from '@tidegate/contracts';
import { type buildConnector, Client } from 'undici';
import { Pieces } from '../bytes/pieces.ts';

/**
 * Resolves to all addresses of a host name. Rejects if there are none, or when the signal aborts.
 */
export type Resolve = (hostname: string, signal: AbortSignal) => Promise<readonly string[]>;

export interface DownloadOptions {
  readonly resolve: Resolve;
  readonly maxBytes: number;
  /**
   * Called before each piece is kept. A refusal ends the download. The caller owns what it claims.
   */
  readonly claim: (bytes: number) => Passed | Refusal;
  /** Certificate authorities (PEM) to trust instead of the system's. */
  readonly ca?: string;
  /** Whether to connect to an address. */
  readonly isAllowed: (address: string) => boolean;
}

export type Download = Buffer | Refusal | DownloadProblem;

interface DownloadProblem {
  /**
   * Completes a sentence that begins with the image. Reveals nothing about the network behind the
   * gateway.
   */
  readonly problem: string;
}

type Hop = Download | { readonly redirect: string };

const MAX_REDIRECTS = 3;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const MAX_HEADER_BYTES = 16 * 1024;
/** A server may send one byte at a time, and each piece costs the main thread microseconds. */
const MAX_PIECES = 65_536;
const HEADERS = {
  accept: 'image/png, image/jpeg, image/webp, image/gif',
  'accept-encoding': 'identity',
  'user-agent': 'Tidegate',
};

/**
 * Downloads an image over HTTPS. Every host on the way, redirects included, must have only allowed
 * addresses. The connection goes to one of the addresses that were checked: no name is resolved
 * twice. Rejects only when the signal aborts.
 */
export async function download(
  link: string,
  options: DownloadOptions,
  signal: AbortSignal,
): Promise<Download> {
  let url = new URL(link);
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const hop = await visit(url, options, signal);
    if (!('redirect' in hop)) return hop;
    if (!URL.canParse(hop.redirect, url.href)) return problem('was redirected to an invalid URL');
    url = new URL(hop.redirect, url);
    if (url.protocol !== 'https:') return problem('was redirected to a URL that is not https');
    if (url.username !== '' || url.password !== '')
      return problem('was redirected to a URL with a user name or password');
  }
  return problem(`was redirected more than ${MAX_REDIRECTS} times`);
}

async function visit(url: URL, options: DownloadOptions, signal: AbortSignal): Promise<Hop> {
  const addresses = await addressesOf(url, options, signal);
  if (addresses === null) return problem(UNREACHABLE);
  const client = new Client(url.origin, {
    connect: {
      lookup: pinnedTo(addresses),
      // The client does not pass a request's signal on to the connection that the request waits
      // for.
      signal,
      ...(options.ca !== undefined && { ca: options.ca }),
    } as buildConnector.BuildOptions,
    pipelining: 0,
    maxHeaderSize: MAX_HEADER_BYTES,
  });
  try {
    return await get(client, url, options, signal);
  } catch {
    signal.throwIfAborted();
    return problem(UNREACHABLE);
  } finally {
    await client.destroy();
  }
}

/**
 * Returns null if the host has no address, or one that is not allowed. Both cases look the same, so
 * that callers cannot probe a private network.
 */
async function addressesOf(
  url: URL,
  options: DownloadOptions,
  signal: AbortSignal,
): Promise<readonly string[] | null> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  try {
    const addresses = isIP(host) === 0 ? await options.resolve(host, signal) : [host];
    return addresses.length > 0 && addresses.every(options.isAllowed) ? addresses : null;
  } catch {
    signal.throwIfAborted();
    return null;
  }
}

const pinnedTo =
  (addresses: readonly string[]): LookupFunction =>
  (_hostname, lookup, callback) => {
    const all = addresses.map((address) => ({ address, family: isIP(address) }));
    const [first] = all;
    if (lookup.all) callback(null, all);
    else callback(null, first?.address ?? '', first?.family);
  };

async function get(client: Client, url: URL, options: DownloadOptions, signal: AbortSignal): Promise<Hop> {
  const response = await client.request({
    method: 'GET',
    path: url.pathname + url.search,
    headers: HEADERS,
    signal,
  });
  const { statusCode, headers, body } = response;
  // A body that is left unread or broken off emits an error that nobody needs.
  body.on('error', () => {});
  if (REDIRECTS.has(statusCode)) {
    return typeof headers.location === 'string' ? { redirect: headers.location } : problem(UNREACHABLE);
  }
  if (statusCode !== 200)
    return problem(`could not be downloaded: its server answered with status ${statusCode}`);
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') return problem('could not be downloaded: its server sent it compressed');
  if (Number(headers['content-length'] ?? 0) > options.maxBytes) return problem(tooLarge(options.maxBytes));
  try {
    return await readImage(body, options);
  } catch {
    signal.throwIfAborted();
    return problem('could not be downloaded: its server broke off the transfer');
  }
}

/** Listens for pieces. An iterator would merge small ones, and so hide how many came. */
function readImage(body: Readable, { maxBytes, claim }: DownloadOptions): Promise<Download> {
  const image = new Pieces();
  let pieces = 0;
  const refusalOf = ({ length }: Buffer): Refusal | DownloadProblem | null => {
    if (image.bytes + length > maxBytes) return problem(tooLarge(maxBytes));
    if (++pieces > MAX_PIECES) return problem(TINY_PIECES);
    const room = claim(length);
    return isRefusal(room) ? room : null;
  };
  return new Promise((resolve, reject) => {
    const take = (chunk: Buffer): void => {
      const refused = refusalOf(chunk);
      if (!refused) return void image.add(chunk);
      body.off('data', take).destroy();
      resolve(refused);
    };
    body.on('data', take).once('end', () => resolve(image.take()));
    body.once('error', reject).once('close', () => reject(new Error('closed')));
  });
}

const problem = (text: string): DownloadProblem => ({ problem: text });

const UNREACHABLE = 'could not be downloaded: its server cannot be reached from the internet over HTTPS';

const TINY_PIECES = 'could not be downloaded: its server sent too many tiny pieces';

const tooLarge = (maxBytes: number): string => `is larger than ${maxBytes / 1e6} MB (${maxBytes} bytes)`;
