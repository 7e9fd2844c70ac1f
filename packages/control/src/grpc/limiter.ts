import type { PeerClients } from '@tidegate/rpc';
import type { ServiceIdentity } from '@tidegate/runtime';
import type { LimiterPort } from '../deps.ts';
import { type Closable, DEADLINES, type Deadlines, type Rpc, rpc } from './rpc.ts';

/** The limiter looks at every key in Redis. */
const FORGET_DEADLINE_MS = 30_000;

type Client = ReturnType<Rpc['createLimiterClient']>;

export interface LimiterCallOptions {
  readonly deadlines?: Deadlines;
  readonly random?: () => number;
  /** Monotonic. */
  readonly nowMs?: () => number;
}

/**
 * A client of the limiters at these addresses (`host:port`). A call goes to one that has not failed
 * recently. If that one cannot be reached, the call tries the others. Connects with the first call.
 */
export function limiterOverGrpc(
  addresses: readonly string[],
  caller?: ServiceIdentity,
  { deadlines = DEADLINES, random = Math.random, nowMs = () => performance.now() }: LimiterCallOptions = {},
): LimiterPort & Closable {
  let clients: PeerClients<Client> | undefined;
  const first = async <T>(call: (callUnary: Rpc['callUnary'], client: Client) => Promise<T>): Promise<T> => {
    const { callUnary, createLimiterClient, Peers, PeerClients } = await rpc();
    clients ??= new PeerClients({
      peers: new Peers({ addresses, random, nowMs }),
      connect: (peer) => createLimiterClient(peer, caller),
    });
    return clients.call((client) => call(callUnary, client));
  };
  const shown = { deadlineMs: deadlines.shownMs };
  const change = { deadlineMs: deadlines.limiterMs };
  return {
    async refreshOrgs(orgIds) {
      await first((callUnary, client) => callUnary(client, 'refreshOrgs', { orgIds: [...orgIds] }, change));
    },
    async revokeKey({ orgId, keyId, keyHash }) {
      const request = { orgId, keyId, keyHash: Buffer.from(keyHash) };
      await first((callUnary, client) => callUnary(client, 'revokeKey', request, change));
    },
    async forgetOrg(orgId) {
      const patient = { deadlineMs: FORGET_DEADLINE_MS };
      await first((callUnary, client) => callUnary(client, 'forgetOrg', { orgId }, patient));
    },
    async month(orgId) {
      return first((callUnary, client) => callUnary(client, 'getMonth', { orgId }, shown));
    },
    async findRequest(orgId, admissionId) {
      const { state } = await first((callUnary, client) =>
        callUnary(client, 'findRequest', { orgId, admissionId }, shown),
      );
      return state === 'STATE_OPEN' ? 'open' : state === 'STATE_QUEUED' ? 'queued' : null;
    },
    close: () => clients?.close(),
  };
}
