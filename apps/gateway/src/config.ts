import { isIP } from 'node:net';
import { LIMITS } from '@tidegate/limits';
import {
  addresses,
  callerFields,
  callerOf,
  count,
  durationMs,
  host,
  loadConfig,
  poolAddresses,
  port,
  type ServiceIdentity,
  serviceFields,
  trustedProxies,
  type Variables,
} from '@tidegate/runtime';
import { type TracingSettings, tracingFields, tracingOf } from '@tidegate/tracing';
import ipaddr from 'ipaddr.js';
import { z } from 'zod';

const listOf = (is: (entry: string) => boolean, what: string) =>
  z
    .string()
    .transform((text) => text.split(',').map((entry) => entry.trim()))
    .pipe(z.array(z.string().refine(is, `must be ${what}, or several separated by commas`)));

/** An IP address with or without a port: `192.0.2.1:53`, `[2001:db8::1]:53`. */
const isNameServer = (text: string): boolean => {
  const [, v6, v4, portText] = /^(?:\[(.+)\]|([\d.]+)):(\d+)$/.exec(text) ?? [];
  if (portText === undefined) return isIP(text) !== 0;
  return port.safeParse(portText).success && (v6 === undefined ? isIP(v4 as string) === 4 : isIP(v6) === 6);
};

export const schema = z.object({
  ...serviceFields(8_081),
  ...callerFields,
  ...tracingFields,
  GATEWAY_HOST: host.describe('Where the API listens'),
  GATEWAY_PORT: port.default(8_080).describe('The port of `GATEWAY_HOST`. 0 means any free one'),
  LIMITER_ADDRESSES: addresses,
  RUNNER_ADDRESS: poolAddresses,
  TRUSTED_PROXIES: trustedProxies,

  MAX_REQUESTS_IN_FLIGHT: count
    .default(10_000)
    .describe(
      'How many requests may be in progress in this process. Further ones get 429 with the cause `busy`',
    ),
  MAX_BUFFERED_BODY_BYTES: count
    .default(1024 * 1024 * 1024)
    .describe(
      'Memory for the bodies and linked images of all requests in progress, and for their answers over 64 KiB. A request that would exceed it, or a quarter of it for its organization, gets 429 with the cause `busy`. So does one whose answer would exceed it, unless it has begun as a stream, which then breaks off',
    ),
  MAX_CONNECTIONS: count
    .default(20_000)
    .describe('How many connections callers may have open. Further ones are closed immediately'),
  SHUTDOWN_TIMEOUT_MS: durationMs
    .default(LIMITS.streamMaxMs.alwaysOn + 30_000)
    .describe(
      'How long answers may continue after SIGTERM and `SHUTDOWN_DELAY_MS`, and their settlements wait for a limiter',
    ),

  HEADERS_TIMEOUT_MS: durationMs
    .default(15_000)
    .describe("The time limit of a request's headers. On a new connection, the time starts when it opens"),
  BODY_TIMEOUT_MS: durationMs
    .default(LIMITS.bodyTimeoutMs)
    .describe('The time limit of a whole request body. After that, the request gets 408'),
  COLD_START_MS: durationMs
    .default(LIMITS.coldStartMs)
    .describe('How long a request waits for a model to wake, linked images included'),
  WHOLE_ANSWER_TIMEOUT_MS: durationMs
    .default(LIMITS.wholeAnswerTimeoutMs)
    .describe('The time limit of an answer that is not streamed'),
  FIRST_EVENT_TIMEOUT_MS: durationMs
    .default(LIMITS.wholeAnswerTimeoutMs)
    .describe('The time limit of the first event of a stream'),
  STREAM_PAUSE_MS: durationMs
    .default(LIMITS.streamPauseMs)
    .describe('The longest pause between two events of a stream'),
  STREAM_MAX_ALWAYS_ON_MS: durationMs
    .default(LIMITS.streamMaxMs.alwaysOn)
    .describe('The longest stream of a model that is always on'),
  STREAM_MAX_WAKE_ON_REQUEST_MS: durationMs
    .default(LIMITS.streamMaxMs.wakeOnRequest)
    .describe('The longest stream of a model that wakes on request'),
  UPSTREAM_CONNECT_TIMEOUT_MS: durationMs
    .default(5_000)
    .describe("The time limit of a connection to a model's server"),
  IMAGE_TIMEOUT_MS: durationMs
    .default(LIMITS.imageTimeoutMs)
    .describe('The time limit of the download of a linked image'),
  IMAGE_ALLOWED_NETWORKS: listOf(ipaddr.isValidCIDR, 'a network such as 10.20.0.0/16')
    .default([])
    .describe(
      'Networks that linked images may come from, besides the public internet. **Every key reaches every https server in them**',
    ),
  IMAGE_NAME_SERVERS: listOf(isNameServer, 'an IP address, with or without a port')
    .default([])
    .describe('Name servers for the host names in image links. Default: those of the system'),
  UNREAD_ANSWER_TIMEOUT_MS: durationMs
    .default(60_000)
    .describe('How long an answer may wait for a client that has stopped reading'),

  LIMITER_CALL_TIMEOUT_MS: durationMs
    .default(2_000)
    .describe('How long a request waits for one answer from a limiter. After that, it gets 500'),
  LIMITER_SILENCE_MS: durationMs
    .default(200)
    .describe(
      'If a limiter that owes answers is silent for this long, it may have hung: the session moves to another limiter as soon as one answers. With many calls open, the time is longer',
    ),
  SETTLE_WAIT_MS: durationMs
    .default(1_000)
    .describe(
      'How long the last byte of an answer waits for the settlement to be acknowledged. After that, the settlement is sent again in the background',
    ),
  HEARTBEAT_MS: durationMs
    .default(1_000)
    .describe('How often the gateway renews its lease. When idle, the interval is 2.5 times as long'),
  RECONNECT_MS: durationMs
    .default(250)
    .describe('The pause before a lost connection to limiters or the runner is tried again'),
  PRINCIPAL_TTL_MS: durationMs
    .default(10_000)
    .describe(
      'How long the gateway remembers whom a key belongs to. A revoked key is refused immediately all the same',
    ),
});

export type Config = z.output<typeof schema> & {
  readonly caller: ServiceIdentity;
  /** Null: off. */
  readonly tracing: TracingSettings | null;
};

/** @throws ConfigError */
export function readConfig(env: Variables = process.env): Config {
  return loadConfig(schema, env, { caller: callerOf, tracing: tracingOf });
}
