import type { LimiterClient, Peer, Peers } from '@tidegate/rpc';
import { type LimiterCall, LimiterLink, type LimiterReply, type LinkOptions } from './link.ts';

export type { LimiterCall, LimiterReply };

export interface LimiterSessionOptions extends LinkOptions {
  readonly peers: Peers;
  readonly connect: (peer: Peer) => LimiterClient;
  readonly onUp: () => void;
  /**
   * Also called when the session moves away from a silent limiter. Not called for any other move,
   * because notices keep coming meanwhile.
   */
  readonly onDown: () => void;
  readonly log: { warn(fields: object, message: string): void; info(fields: object, message: string): void };
  readonly reconnectMs: number;
  /** How often to look for a better limiter, give or take a quarter. */
  readonly findBetterMs: number;
  readonly random: () => number;
}

/**
 * How often to look for another limiter when this one is stopping, is silent or cannot keep the
 * lease.
 */
const FIND_OTHER_EVERY_MS = 500;
/** Names that were looked up this recently are not looked up again. */
const FRESH_NAMES_MS = 500;

interface PeerLink {
  readonly peer: Peer;
  readonly link: LimiterLink;
  draining: boolean;
  /** Its limiter did not keep the lease when it was last asked to. */
  failing: boolean;
  /** When its link came up. Monotonic time. */
  upSinceMs: number;
}

const isStuck = ({ failing, link }: PeerLink): boolean => failing || link.silent;
const mustLeave = (peerLink: PeerLink): boolean => peerLink.draining || isStuck(peerLink);

/**
 * This process's session with a limiter: one link, to the limiter that it prefers. A broken link is
 * replaced immediately. When a better limiter appears, or this one is about to stop or cannot keep
 * the lease, the session moves: it opens a second link, makes new calls there, and lets the first
 * one finish its calls. Host names are looked up after each failure, and regularly.
 *
 * The session also moves away from a silent limiter, once another one has answered. The silent one
 * may go on in a moment, so its calls stay open until their time is up.
 *
 * While no link is up, calls resolve to null immediately.
 */
export class LimiterSession {
  readonly #options: LimiterSessionOptions;
  /** Its link is up. */
  #current: PeerLink | null = null;
  /** Its link is being opened. */
  #next: PeerLink | null = null;
  readonly #retired = new Set<PeerLink>();
  #stopped = false;
  /** Links that have ended since one last came up, that one included. */
  #failures = 0;
  #reconnect: NodeJS.Timeout | undefined;
  #looking: NodeJS.Timeout | undefined;

  constructor(options: LimiterSessionOptions) {
    this.#options = options;
  }

  get up(): boolean {
    return this.#current !== null;
  }

  /** Identifies the link in use, for `reset`. */
  get link(): object | null {
    return this.#current?.link ?? null;
  }

  start(): void {
    this.#open();
    this.#lookLater();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#reconnect);
    clearTimeout(this.#looking);
    for (const peerLink of [this.#next, this.#current, ...this.#retired]) peerLink?.link.end('stopped');
  }

  call(call: LimiterCall): Promise<LimiterReply | null> {
    if (this.#current) return this.#current.link.call(call);
    this.#options.onCalled?.(null);
    return Promise.resolve(null);
  }

  /** Gives up this link and connects to the next limiter, unless it is no longer in use. */
  reset(reason: string, link: object | null): void {
    if (this.#current && this.#current.link === link) this.#current.link.end(reason);
  }

  /**
   * Reports whether the limiter at this link fails to keep the lease, for example because it has
   * lost Redis. While it fails, the session looks for a limiter that keeps the lease, and stays if
   * there is none.
   */
  setFailing(failing: boolean, link: object | null): void {
    const peerLink = this.#current;
    if (!peerLink || peerLink.link !== link || peerLink.failing === failing) return;
    peerLink.failing = failing;
    if (failing) void this.#look();
  }

  #open(): void {
    if (this.#stopped || this.#current || this.#next) return;
    const { peers } = this.#options;
    const [peer] = peers.ranked();
    const refreshed = peers.refresh(this.#options.reconnectMs);
    if (peer) this.#connect(peer);
    else void refreshed.then(() => (peers.ranked().length > 0 ? this.#open() : this.#notFound()));
  }

  #notFound(): void {
    if (this.#stopped || this.#current || this.#next) return;
    this.#reopen({ reason: 'the limiter has no address' });
  }

  #connect(peer: Peer): void {
    const client = this.#options.connect(peer);
    const peerLink: PeerLink = {
      peer,
      draining: false,
      failing: false,
      upSinceMs: 0,
      link: new LimiterLink({
        ...this.#options,
        client,
        failures: this.#failures,
        onUp: () => this.#onUp(peerLink),
        onDraining: () => this.#onDraining(peerLink),
        onSilent: () => this.#onSilent(peerLink),
        onEnd: (reason) => this.#onEnd(peerLink, reason),
      }),
    };
    this.#next = peerLink;
  }

  #onUp(peerLink: PeerLink): void {
    const former = this.#current;
    const { address } = peerLink.peer;
    const wasSilent = former?.link.silent;
    if (wasSilent) this.#reportDown(former, 'the limiter is silent');
    this.#next = null;
    this.#current = peerLink;
    peerLink.upSinceMs = this.#options.nowMs();
    this.#failures = 0;
    if (former) {
      this.#options.log.info({ address, former: former.peer.address }, 'limiter session has moved');
      // The new limiter keeps the lease, so the fault lies with the former limiter, not with Redis.
      if (former.failing || wasSilent) this.#options.peers.failed(former.peer);
      this.#retired.add(former);
      former.link.retire();
    } else {
      this.#options.log.info({ address }, 'limiter session is up');
    }
    this.#options.onUp();
    if (peerLink.draining) this.#lookLater();
  }

  #onDraining(peerLink: PeerLink): void {
    if (peerLink.draining) return;
    peerLink.draining = true;
    this.#options.peers.leaving(peerLink.peer);
    if (peerLink === this.#current) void this.#look();
    // Better to stay than to move from one stopping limiter to another.
    else if (peerLink === this.#next && this.#current && !isStuck(this.#current))
      peerLink.link.end('this limiter will stop, too');
  }

  #onSilent(peerLink: PeerLink): void {
    if (peerLink === this.#current) void this.#look();
  }

  #onEnd(peerLink: PeerLink, reason: string): void {
    const wasUp = peerLink === this.#current;
    if (wasUp) this.#current = null;
    if (peerLink === this.#next) this.#next = null;
    if (this.#retired.delete(peerLink) || this.#stopped) return;
    if (!peerLink.draining) this.#options.peers.failed(peerLink.peer);
    const { address } = peerLink.peer;
    if (wasUp) this.#reportDown(peerLink, reason);
    if (!this.#current && !this.#next) this.#reopen({ address, reason });
  }

  #reportDown({ peer: { address } }: PeerLink, reason: string): void {
    this.#options.log.warn({ address, reason }, 'limiter session is down');
    this.#options.onDown();
  }

  #reopen(why: { readonly address?: string; readonly reason: string }): void {
    if (this.#failures === 1) this.#options.log.warn(why, 'cannot open a limiter session');
    // Reconnect immediately after a session that worked: the next limiter may be healthy.
    const pauseMs = this.#failures++ === 0 ? 0 : this.#options.reconnectMs;
    clearTimeout(this.#reconnect);
    this.#reconnect = setTimeout(() => this.#open(), pauseMs);
  }

  #lookLater(): void {
    if (this.#stopped) return;
    clearTimeout(this.#looking);
    const everyMs =
      this.#current && mustLeave(this.#current) ? FIND_OTHER_EVERY_MS : this.#options.findBetterMs;
    const jitter = 0.75 + this.#options.random() / 2;
    this.#looking = setTimeout(() => void this.#look(), everyMs * jitter);
  }

  /** Looks for a better limiter than the one in use, and begins to move there. */
  async #look(): Promise<void> {
    const { peers, findBetterMs, nowMs } = this.#options;
    const refreshed = peers.refresh(FRESH_NAMES_MS);
    // A session that must leave does not wait for a slow name server.
    if (!this.#current || !mustLeave(this.#current)) await refreshed;
    this.#lookLater();
    const peerLink = this.#current;
    if (peerLink && !mustLeave(peerLink) && nowMs() - peerLink.upSinceMs >= findBetterMs)
      peers.worked(peerLink.peer);
    if (this.#stopped || !peerLink || this.#next) return;
    const better = mustLeave(peerLink)
      ? peers.ranked().find(({ address }) => address !== peerLink.peer.address)
      : peers.ranked()[0];
    if (better && better.address !== peerLink.peer.address) this.#connect(better);
  }
}
