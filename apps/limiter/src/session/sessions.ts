import type { Call__Output } from '@tidegate/rpc';
import { within } from '@tidegate/runtime';
import type { NoticeHub, PublishedNotice } from '../notices/hub.ts';
import type { ScriptDeps } from '../script-deps.ts';
import { blockedAddresses } from '../throttle/invalid-keys.ts';
import type { ReplyContent } from './dispatch.ts';
import { Session, type SessionStream } from './session.ts';

const CLOSE_MS = 2_000;

export interface SessionsOptions {
  readonly scriptDeps: ScriptDeps;
  readonly notices: NoticeHub;
  readonly dispatch: (call: Call__Output) => Promise<ReplyContent>;
  readonly maxOpenCalls: number;
  readonly gatewaysMoveMs: number;
  readonly onFailed: (error: unknown, call?: Call__Output) => void;
}

/** All sessions of this limiter. Each of them gets every notice. */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #sessions = new Set<Session>();
  readonly #unlisten: () => void;
  #draining = false;
  #closing = false;
  #onEmpty: () => void = () => {};

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#unlisten = options.notices.listen((notice) => this.#toAll(notice));
    options.notices.onSubscribed(() => void this.#sendBlocks([...this.#sessions]));
  }

  get count(): number {
    return this.#sessions.size;
  }

  get openCalls(): number {
    let open = 0;
    for (const session of this.#sessions) open += session.openCalls;
    return open;
  }

  readonly accept = (stream: SessionStream): void => {
    const { dispatch, maxOpenCalls, onFailed } = this.#options;
    const session = new Session({
      stream,
      dispatch,
      maxOpenCalls,
      onFailed,
      onClosed: () => {
        this.#sessions.delete(session);
        if (this.#sessions.size === 0) this.#onEmpty();
      },
    });
    // List the session before telling it the blocks, so that it misses no block in between.
    this.#sessions.add(session);
    if (this.#closing) session.end();
    else {
      if (this.#draining) session.notify({ draining: {} });
      void this.#sendBlocks([session]);
    }
  };

  /** Asks gateways to move to other limiters. Sessions continue until they do. */
  drain(): void {
    this.#draining = true;
    for (const session of this.#sessions) session.notify({ draining: {} });
  }

  /**
   * Ends every session after its open calls. If gateways were asked to move, it gives them a moment
   * first. The server breaks off those that take too long.
   */
  async close(): Promise<void> {
    if (this.#draining) await this.#emptyWithin(this.#options.gatewaysMoveMs);
    this.#closing = true;
    this.#unlisten();
    for (const session of this.#sessions) session.end();
    await this.#emptyWithin(CLOSE_MS);
  }

  async #emptyWithin(ms: number): Promise<void> {
    if (this.#sessions.size === 0) return;
    const empty = new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
    });
    await within(empty, ms, undefined);
  }

  #toAll(notice: PublishedNotice): void {
    for (const session of this.#sessions) session.notify(notice);
  }

  async #sendBlocks(sessions: readonly Session[]): Promise<void> {
    try {
      for (const block of await blockedAddresses(this.#options.scriptDeps))
        for (const session of sessions) session.notify({ addressBlocked: block });
    } catch (error) {
      // The throttle itself is in Redis. An address whose block was not announced is refused with
      // its next report.
      this.#options.onFailed(error);
    }
  }
}
