import { once } from 'node:events';
import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js';
import {
  type AdmissionOutcome,
  type Call__Output,
  limiterService,
  type Notice,
  type Principal,
  type Reply,
  type SessionRequest__Output,
  type SessionResponse,
} from '@tidegate/rpc';

type Session = ServerDuplexStream<SessionRequest__Output, SessionResponse>;
type Kind = NonNullable<Call__Output['call']>;
type ReplyBody = Omit<Reply, 'callId' | 'outcome'>;
/** Undefined sends no reply at all. A promise sends its reply once it resolves. */
type Answer = (call: Call__Output) => ReplyBody | Promise<ReplyBody> | undefined;

/** Look-ups of keys, and calls that a timer makes at any time. */
const NOT_OF_A_REQUEST: readonly (Kind | undefined)[] = ['heartbeat', 'authenticate', 'reportRefusals'];

export const admitted: AdmissionOutcome = {
  admitted: { decidedAtMs: 1, window: { limit: 60, remaining: 59, resetMs: 60_000 } },
};

/**
 * A limiter that speaks the real protocol and answers as the test decides. By default it knows one
 * key, admits everything, and acknowledges everything.
 */
export class FakeLimiter {
  readonly calls: Call__Output[] = [];
  /** The number of calls in each message, in order of arrival. */
  readonly messages: number[] = [];
  readonly principals = new Map<string, Principal>();
  readonly answers: Record<Kind, Answer> = {
    heartbeat: () => ({ heartbeat: {} }),
    authenticate: (call) => {
      const principal = this.principals.get(Buffer.from(call.authenticate?.keyHash ?? []).toString('hex'));
      return { authenticate: principal ? { principal } : { keyInvalid: {} } };
    },
    reportInvalidKey: () => ({ reportInvalidKey: {} }),
    takeLargeBody: () => ({ takeLargeBody: { result: 'RESULT_TAKEN' } }),
    releaseLargeBody: () => ({ releaseLargeBody: {} }),
    countRequest: () => ({ admission: admitted }),
    admit: () => ({ admission: admitted }),
    reserve: () => ({ admission: admitted }),
    withdraw: () => ({ withdraw: {} }),
    settle: () => ({ settle: {} }),
    restore: () => ({ restore: {} }),
    reportRefusals: () => ({ reportRefusals: {} }),
  };
  /** Delay of every answer. */
  delayMs = 0;
  /** Whether it tells each new session that it will stop. */
  draining = false;
  /** Sessions since the start. */
  accepted = 0;
  readonly #sessions = new Set<Session>();
  #server: Server | null = null;
  #port = 0;

  get address(): string {
    return `127.0.0.1:${this.#port}`;
  }

  get sessions(): number {
    return this.#sessions.size;
  }

  /** Starts the server, on its previous port if it has been started before. */
  async start(): Promise<this> {
    const server = new Server();
    server.addService(limiterService, { session: (stream: Session) => this.#accept(stream) } as never);
    this.#port = await new Promise<number>((resolve, reject) => {
      server.bindAsync(`127.0.0.1:${this.#port}`, ServerCredentials.createInsecure(), (error, port) =>
        error ? reject(error) : resolve(port),
      );
    });
    this.#server = server;
    return this;
  }

  stop(): void {
    this.#server?.forceShutdown();
    this.#sessions.clear();
  }

  showLife(): void {
    for (const session of this.#sessions) session.write({});
  }

  notify(notice: Notice): void {
    for (const session of this.#sessions) session.write({ notices: [notice] });
  }

  of(kind: Kind): Call__Output[] {
    return this.calls.filter(({ call }) => call === kind);
  }

  /** The calls that were made for requests, in order of arrival. */
  get requestCalls(): (Kind | undefined)[] {
    return this.calls.map(({ call }) => call).filter((call) => !NOT_OF_A_REQUEST.includes(call));
  }

  #accept(stream: Session): void {
    this.#sessions.add(stream);
    this.accepted++;
    if (this.draining) stream.write({ notices: [{ draining: {} }] });
    stream.on('error', () => {});
    void once(stream, 'close').then(() => this.#sessions.delete(stream));
    stream.on('end', () => stream.end());
    stream.on('data', ({ calls }: SessionRequest__Output) => {
      this.messages.push(calls.length);
      this.calls.push(...calls);
      const replies = calls.flatMap((call) => {
        const { callId } = call;
        const reply = this.answers[call.call as Kind](call);
        if (reply instanceof Promise) {
          void reply.then((said) => stream.write({ replies: [{ callId, ...said }] }));
          return [];
        }
        return reply ? [{ callId, ...reply }] : [];
      });
      if (replies.length === 0) return;
      if (this.delayMs === 0) stream.write({ replies });
      else setTimeout(() => stream.write({ replies }), this.delayMs);
    });
  }
}
