import type {
  AdmissionOutcome__Output,
  Call,
  LimiterClient,
  Notice__Output,
  Reply__Output,
  SessionRequest,
  SessionResponse__Output,
} from '@tidegate/rpc';
import { createLimiterClient } from '@tidegate/rpc';

type Ask = Omit<Call, 'callId'>;

/**
 * A gateway's end of a session, for tests. The calls of one turn travel as one message.
 */
export class SessionClient {
  readonly notices: Notice__Output[] = [];
  /** Messages with replies that have arrived. */
  messages = 0;
  /** Empty messages that have arrived: signs of life. */
  signs = 0;
  readonly client: LimiterClient;
  /** Resolves when the session has ended for any reason. */
  readonly ended: Promise<void>;
  readonly #stream;
  readonly #open = new Map<number, { resolve(reply: Reply__Output): void; reject(error: Error): void }>();
  #calls: Call[] = [];
  #nextId = 1;

  constructor(address: string) {
    this.client = createLimiterClient(address);
    this.#stream = this.client.session();
    this.#stream.on('data', (response: SessionResponse__Output) => this.#onResponse(response));
    this.ended = new Promise((resolve) => {
      const end = () => {
        for (const { reject } of this.#open.values()) reject(new Error('the session has ended'));
        this.#open.clear();
        resolve();
      };
      this.#stream.on('error', end);
      this.#stream.on('end', end);
    });
  }

  /** Resolves to the reply, including a Failed one. Rejects if the session ends first. */
  ask(ask: Ask): Promise<Reply__Output> {
    return new Promise((resolve, reject) => {
      const callId = this.#nextId++;
      this.#open.set(callId, { resolve, reject });
      if (this.#calls.length === 0) setImmediate(() => this.#flush());
      (ask as Call).callId = callId;
      this.#calls.push(ask);
    });
  }

  /** Resolves to the admission outcome. Rejects if the limiter could not decide. */
  async decide(ask: Ask): Promise<AdmissionOutcome__Output> {
    const reply = await this.ask(ask);
    if (!reply.admission) throw new Error(reply.failed?.reason ?? 'no admission outcome');
    return reply.admission;
  }

  close(): void {
    this.#stream.end();
    this.client.close();
  }

  #flush(): void {
    const calls = this.#calls;
    this.#calls = [];
    const message: SessionRequest = { calls };
    this.#stream.write(message);
  }

  #onResponse({ replies, notices }: SessionResponse__Output): void {
    if (replies.length > 0) this.messages++;
    else if (notices.length === 0) this.signs++;
    this.notices.push(...notices);
    for (const reply of replies) {
      this.#open.get(reply.callId)?.resolve(reply);
      this.#open.delete(reply.callId);
    }
  }
}
