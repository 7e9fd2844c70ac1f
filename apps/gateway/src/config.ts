import { isIP } from 'node:net';
import { LIMITS } from '@tidegate/limits';
import {
  addresses,
  type Caller,
  callerFields,
  callerOf,
  count,
  durationMs,
  host,
  loadConfig,
  poolAddresses,
  port,
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
    .pipe(z.array(z.string().refine(is, `must be ${what}, several separated by commas`)));

/** An IP address with or without a port: `192.0.2.1:53`, `[2001:db8::1]:53`. */
const isNameServer = (text: string): boolean => {
  const [, v6, v4, portText] = /^(?:\[(.+)\]|([\d.]+)):(\d+)$/.exec(text) ?? [];
  if (portText === undefined) return isIP(text) !== 0;
  return port.safeParse(portText).success && (v6 === undefined ? isIP(v4 as string) === 4 : isIP(v6) === 6);
};

const SCHEMA = z.object({
  ...serviceFields(8_081),
  ...callerFields,
  ...tracingFields,
  GATEWAY_HOST: host,
  GATEWAY_PORT: port.default(8_080),
  LIMITER_ADDRESSES: addresses,
  /** Of each pool: the gateway serves the models of all of them. */
  RUNNER_ADDRESS: poolAddresses,
  TRUSTED_PROXIES: trustedProxies,

  MAX_REQUESTS_IN_FLIGHT: count.default(10_000),
  /**
   * Memory for the bodies and linked images of all requests in flight. A request beyond it, or
   * beyond a quarter of it for one organization, is refused as busy.
   */
  MAX_BUFFERED_BODY_BYTES: count.default(1024 * 1024 * 1024),
  MAX_CONNECTIONS: count.default(20_000),
  SHUTDOWN_TIMEOUT_MS: durationMs.default(LIMITS.streamMaxMs.alwaysOn + 30_000),

  HEADERS_TIMEOUT_MS: durationMs.default(15_000),
  BODY_TIMEOUT_MS: durationMs.default(LIMITS.bodyTimeoutMs),
  COLD_START_MS: durationMs.default(LIMITS.coldStartMs),
  WHOLE_ANSWER_TIMEOUT_MS: durationMs.default(LIMITS.wholeAnswerTimeoutMs),
  FIRST_EVENT_TIMEOUT_MS: durationMs.default(LIMITS.wholeAnswerTimeoutMs),
  STREAM_PAUSE_MS: durationMs.default(LIMITS.streamPauseMs),
  STREAM_MAX_ALWAYS_ON_MS: durationMs.default(LIMITS.streamMaxMs.alwaysOn),
  STREAM_MAX_WAKE_ON_REQUEST_MS: durationMs.default(LIMITS.streamMaxMs.wakeOnRequest),
  UPSTREAM_CONNECT_TIMEOUT_MS: durationMs.default(5_000),
  IMAGE_TIMEOUT_MS: durationMs.default(LIMITS.imageTimeoutMs),
  /** Networks that linked images may come from in addition to the public internet. */
  IMAGE_ALLOWED_NETWORKS: listOf(ipaddr.isValidCIDR, 'a network such as 10.20.0.0/16').default([]),
  /** Name servers for the host names in links, instead of the system's. */
  IMAGE_NAME_SERVERS: listOf(isNameServer, 'an IP address, with a port or without').default([]),
  /** How long a finished answer may wait for a client that has stopped reading. */
  UNREAD_ANSWER_TIMEOUT_MS: durationMs.default(60_000),

  LIMITER_CALL_TIMEOUT_MS: durationMs.default(2_000),
  LIMITER_SILENCE_MS: durationMs.default(200),
  SETTLE_WAIT_MS: durationMs.default(1_000),
  HEARTBEAT_MS: durationMs.default(1_000),
  RECONNECT_MS: durationMs.default(250),
  PRINCIPAL_TTL_MS: durationMs.default(10_000),
});

export type Config = z.output<typeof SCHEMA> & {
  readonly caller: Caller;
  /** Null: off. */
  readonly tracing: TracingSettings | null;
};

/** @throws ConfigError */
export function readConfig(env: Variables = process.env): Config {
  const config = loadConfig(SCHEMA, env);
  return { ...config, caller: callerOf(config), tracing: tracingOf(config) };
}
