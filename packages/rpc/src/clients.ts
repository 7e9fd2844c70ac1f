import {
  type ChannelOptions,
  type Client,
  type ClientOptions,
  credentials,
  type ServiceError,
} from '@grpc/grpc-js';
import type { ServiceIdentity } from '@tidegate/runtime';
import { BoundedChannel } from './bounded-channel.ts';
import { LimiterStub, RunnerStub } from './definitions.ts';
import type {
  CheckWorkloadRequest,
  CheckWorkloadResponse__Output,
  ConfirmSettlementsRequest,
  ConfirmSettlementsResponse__Output,
  FindRequestRequest,
  FindRequestResponse__Output,
  ForgetOrgRequest,
  ForgetOrgResponse__Output,
  GetMonthRequest,
  GetMonthResponse__Output,
  GetRoomRequest,
  GetRoomResponse__Output,
  InspectRequest,
  InspectResponse__Output,
  LimiterClient,
  ListActivityRequest,
  ListActivityResponse__Output,
  ModelRequest,
  ModelState__Output,
  RefreshOrgsRequest,
  RefreshOrgsResponse__Output,
  RevokeKeyRequest,
  RevokeKeyResponse__Output,
  RunnerClient,
  WakeRequest,
} from './generated/index.ts';
import type { Peer } from './peers/target.ts';
import { clientTls } from './trust/certificates.ts';
import { sendToken } from './trust/guard.ts';

/**
 * Keepalive notices a silently dead connection within 15 s; a gateway's heartbeat notices sooner.
 * Connecting is tried again within 0.6 s, so that gateways find a pool's next leader soon.
 */
const channelOptions: ChannelOptions = {
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.min_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 500,
  'grpc.max_receive_message_length': 64 * 1024 * 1024,
  'grpc.service_config_disable_resolution': 1,
  // A host that has moved is found again as soon as connecting is tried again. The default is 30 s.
  'grpc.dns_min_time_between_resolutions_ms': 1_000,
  // The http_proxy of a machine or of Docker is for the internet, not for services beside this one.
  'grpc.enable_http_proxy': 0,
};

/** Without a token or TLS: for servers on this machine that ask for neither. */
const NOBODY: ServiceIdentity = { token: null, tls: null };

/**
 * A runner that hangs keeps its connections and its port, so only its silence gives it away. Its
 * lease passes to another runner 6 s after the last sign of life at the earliest, and 8.5 s at the
 * latest. So the silence is noticed within 6 s: sooner would gain nothing. Of these, 4 s are for
 * the answer to a ping, because on a busy machine a healthy process, at either end, may get no turn
 * for a second or two. A connection that is given up wrongly costs little: gateways serve from what
 * they know, and reconnect and repeat their wakes immediately. Our servers accept pings as often as
 * they come.
 */
const runnerOptions: ChannelOptions = {
  ...channelOptions,
  'grpc.keepalive_time_ms': 2_000,
  'grpc.keepalive_timeout_ms': 4_000,
};

/** Bounds the wait for a connection to a few seconds. */
const bounded: ClientOptions = { channelFactoryOverride: (...how) => new BoundedChannel(...how) };

const credentialsOf = ({ tls }: ServiceIdentity) => (tls ? clientTls(tls) : credentials.createInsecure());
const tokenOf = ({ token }: ServiceIdentity): ClientOptions =>
  token === null ? {} : { interceptors: [sendToken(token)] };
/** The certificate must name the host that was looked up, not its address. */
const nameOf = ({ serverName }: Peer): ClientOptions =>
  serverName === null
    ? {}
    : { 'grpc.ssl_target_name_override': serverName, 'grpc.default_authority': serverName };

/** @param to a peer, or `host:port` */
export function createLimiterClient(to: Peer | string, caller: ServiceIdentity = NOBODY): LimiterClient {
  const peer = typeof to === 'string' ? { address: to, serverName: null } : to;
  return new LimiterStub(peer.address, credentialsOf(caller), {
    ...channelOptions,
    ...bounded,
    ...tokenOf(caller),
    ...nameOf(peer),
  });
}

/**
 * @param address `host:port`. A host's addresses are tried in turn, since only one leads.
 * @param options override those above
 */
export const createRunnerClient = (
  address: string,
  caller: ServiceIdentity = NOBODY,
  options: ClientOptions = {},
): RunnerClient =>
  new RunnerStub(address, credentialsOf(caller), {
    ...runnerOptions,
    ...bounded,
    ...tokenOf(caller),
    ...options,
  });

interface UnaryMethods {
  refreshOrgs: { request: RefreshOrgsRequest; response: RefreshOrgsResponse__Output };
  revokeKey: { request: RevokeKeyRequest; response: RevokeKeyResponse__Output };
  forgetOrg: { request: ForgetOrgRequest; response: ForgetOrgResponse__Output };
  confirmSettlements: { request: ConfirmSettlementsRequest; response: ConfirmSettlementsResponse__Output };
  findRequest: { request: FindRequestRequest; response: FindRequestResponse__Output };
  getMonth: { request: GetMonthRequest; response: GetMonthResponse__Output };
  wake: { request: WakeRequest; response: ModelState__Output };
  start: { request: ModelRequest; response: ModelState__Output };
  stop: { request: ModelRequest; response: ModelState__Output };
  refresh: { request: ModelRequest; response: ModelState__Output };
  inspect: { request: InspectRequest; response: InspectResponse__Output };
  checkWorkload: { request: CheckWorkloadRequest; response: CheckWorkloadResponse__Output };
  listActivity: { request: ListActivityRequest; response: ListActivityResponse__Output };
  getRoom: { request: GetRoomRequest; response: GetRoomResponse__Output };
}

type Unary<M extends keyof UnaryMethods> = (
  request: UnaryMethods[M]['request'],
  options: { deadline: number },
  callback: (error: ServiceError | null, response?: UnaryMethods[M]['response']) => void,
) => { cancel(): void };

export interface CallOptions {
  /** The call fails with DEADLINE_EXCEEDED after this time, even if it never reached the peer. */
  readonly deadlineMs: number;
  /** Cancels the call, which then fails with CANCELLED. */
  readonly signal?: AbortSignal;
}

/** One unary call. Rejects with a grpc `ServiceError`. */
export function callUnary<C extends Client, M extends keyof UnaryMethods & keyof C>(
  client: C,
  method: M,
  request: UnaryMethods[M]['request'],
  options: CallOptions,
): Promise<UnaryMethods[M]['response']> {
  const { deadlineMs, signal } = options;
  return new Promise((resolve, reject) => {
    const send = (client[method] as unknown as Unary<M>).bind(client);
    const call = send(request, { deadline: Date.now() + deadlineMs }, (error, response) => {
      signal?.removeEventListener('abort', cancel);
      if (response !== undefined && error === null) resolve(response);
      else reject(error ?? new Error('the peer sent no answer'));
    });
    const cancel = () => call.cancel();
    if (signal?.aborted) cancel();
    else signal?.addEventListener('abort', cancel, { once: true });
  });
}
