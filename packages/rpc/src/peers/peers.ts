import { type Peer, type PeerTarget, parseTarget, peerAt, type ResolvePeers, resolveAll } from './target.ts';

/** Further addresses of one host are ignored. */
const MAX_ADDRESSES_PER_HOST = 256;
/** A look-up that takes longer counts as failed for now. Its result is still used. */
const LOOKUP_MS = 3_000;
const MIN_AVOID_MS = 10_000;
const MAX_AVOID_MS = 300_000;
const LEAVING_MS = 60_000;

export interface PeersOptions {
  /** `host:port`, at least one. A host may have several addresses, and they may change. */
  readonly addresses: readonly string[];
  readonly resolve?: ResolvePeers;
  /** From 0 to 1. Spreads processes over peers. */
  readonly random: () => number;
  /** Monotonic clock. */
  readonly nowMs: () => number;
}

interface KnownPeer {
  readonly peer: Peer;
  /** Random. This process prefers the peer with the greatest weight. */
  readonly weight: number;
  /** How many in a row. */
  failures: number;
  avoidUntilMs: number;
}

/**
 * The servers at the configured addresses, as far as DNS knows them, and which of them this process
 * prefers. Each process has its own order, so that processes spread over the peers: when a peer is
 * added, its fair share of processes comes to prefer it, and the others change nothing. A peer that
 * failed is avoided for 10 s, twice as long after each further failure, up to 5 minutes.
 *
 * Nothing is looked up unless `refresh` is called.
 */
export class Peers {
  readonly #options: PeersOptions;
  readonly #targets: readonly PeerTarget[];
  readonly #resolve: ResolvePeers;
  #known = new Map<string, KnownPeer>();
  /** What DNS last said, by host. */
  readonly #found = new Map<string, readonly string[]>();
  readonly #lookups = new Map<string, Promise<void>>();
  #refreshedMs = Number.NEGATIVE_INFINITY;
  /** Resolves with the end of the look-ups that began at `#refreshedMs`. */
  #refreshed: Promise<unknown> = Promise.resolve();

  constructor(options: PeersOptions) {
    this.#options = options;
    this.#resolve = options.resolve ?? resolveAll;
    this.#targets = options.addresses.map(parseTarget);
    this.#update();
  }

  /** The preferred one first, those to avoid last. Empty until a host name has been looked up. */
  ranked(): Peer[] {
    const nowMs = this.#options.nowMs();
    const avoided = ({ avoidUntilMs }: KnownPeer) => (avoidUntilMs > nowMs ? avoidUntilMs : 0);
    return [...this.#known.values()]
      .sort((a, b) => avoided(a) - avoided(b) || b.weight - a.weight)
      .map(({ peer }) => peer);
  }

  /**
   * Looks up all host names again, unless the last look-up began less than `maxAgeMs` ago. In that
   * case, waits for it to end if no address is known yet. A host whose look-up fails keeps its
   * addresses. Never rejects.
   */
  async refresh(maxAgeMs = 0): Promise<void> {
    const nowMs = this.#options.nowMs();
    if (nowMs - this.#refreshedMs < maxAgeMs) {
      // A slow DNS must not hold up callers that can use known addresses.
      if (this.#known.size === 0) await this.#refreshed;
      return;
    }
    this.#refreshedMs = nowMs;
    const hosts = new Set(this.#targets.flatMap((target) => ('host' in target ? [target.host] : [])));
    this.#refreshed = Promise.all([...hosts].map((host) => atMost(LOOKUP_MS, this.#lookUp(host))));
    await this.#refreshed;
  }

  /** The peer could not be used. */
  failed(peer: Peer): void {
    const known = this.#known.get(peer.address);
    if (!known) return;
    const avoidMs = Math.min(MIN_AVOID_MS * 2 ** known.failures, MAX_AVOID_MS);
    known.failures = Math.min(known.failures + 1, 10);
    known.avoidUntilMs = this.#options.nowMs() + avoidMs;
  }

  /** The peer works, so its failures no longer count. */
  worked(peer: Peer): void {
    const known = this.#known.get(peer.address);
    if (!known) return;
    known.failures = 0;
    known.avoidUntilMs = 0;
  }

  /** The peer says that it will stop. It is avoided for a minute, unless it is the only one. */
  leaving(peer: Peer): void {
    const known = this.#known.get(peer.address);
    if (known) known.avoidUntilMs = this.#options.nowMs() + LEAVING_MS;
  }

  /** There is never more than one look-up of a host, however long it takes. */
  #lookUp(host: string): Promise<void> {
    const running = this.#lookups.get(host);
    if (running) return running;
    const lookup = this.#resolve(host)
      .then(
        (ips) => {
          if (ips.length === 0) return;
          this.#found.set(host, ips.slice(0, MAX_ADDRESSES_PER_HOST));
          this.#update();
        },
        () => {},
      )
      .finally(() => this.#lookups.delete(host));
    this.#lookups.set(host, lookup);
    return lookup;
  }

  #update(): void {
    const former = this.#known;
    this.#known = new Map();
    for (const target of this.#targets)
      for (const peer of this.#peersOf(target)) {
        const { address } = peer;
        const known = former.get(address) ?? this.#known.get(address);
        this.#known.set(
          address,
          known ?? { peer, weight: this.#options.random(), failures: 0, avoidUntilMs: 0 },
        );
      }
  }

  #peersOf(target: PeerTarget): readonly Peer[] {
    if ('peer' in target) return [target.peer];
    const { host, port } = target;
    return (this.#found.get(host) ?? []).map((ip) => peerAt(ip, host, port));
  }
}

async function atMost(ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}
