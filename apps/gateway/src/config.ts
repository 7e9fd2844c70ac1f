import { isIP } from 'node:net';
import { LIMITS } from '@tidegate/limits';
import { LOG_LEVELS, loadConfig, shutdownDelayMs } from '@tidegate/runtime';
import ipaddr from 'ipaddr.js';
import { z } from 'zod';

const port = z.coerce.number().int().min(0).max(65_535);
const count = z.coerce.number().int().min(1);
const ms = z.coerce
  .number()
  .int()
  .min(1)
  .max(2 ** 31 - 1);
const addresses = z
  .string()
  .transform((text) => text.split(',').map((address) => address.trim()))
  .pipe(z.array(z.string().regex(/^\S+:\d+$/, 'must be host:port, several separated by commas')).min(1));

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
  GATEWAY_HOST: z.string().default('127.0.0.1'),
  GATEWAY_PORT: port.default(8080),
  ADMIN_HOST: z.string().default('127.0.0.1'),
  ADMIN_PORT: port.default(8081),
  LOG_LEVEL: z.enum(LOG_LEVELS).default('info'),
  LIMITER_ADDRESSES: addresses,
  RUNNER_ADDRESS: z.string().regex(/^\S+:\d+$/, 'must be host:port'),
  TRUSTED_PROXIES: z.coerce.number().int().min(0).default(0),

  MAX_REQUESTS_IN_FLIGHT: count.default(10_000),
  /**
   * Memory for the bodies and linked images of all requests in flight. A request beyond it, or
   * beyond a quarter of it for one organization, is refused as busy.
   */
  MAX_BUFFERED_BODY_BYTES: count.default(1024 * 1024 * 1024),
  MAX_CONNECTIONS: count.default(20_000),
  /** How long to keep serving after SIGTERM while not ready, until proxies have noticed. */
  SHUTDOWN_DELAY_MS: shutdownDelayMs,
  SHUTDOWN_TIMEOUT_MS: ms.default(LIMITS.streamMaxMs.alwaysOn + 30_000),

  HEADERS_TIMEOUT_MS: ms.default(15_000),
  BODY_TIMEOUT_MS: ms.default(LIMITS.bodyTimeoutMs),
  COLD_START_MS: ms.default(LIMITS.coldStartMs),
  WHOLE_ANSWER_TIMEOUT_MS: ms.default(LIMITS.wholeAnswerTimeoutMs),
  FIRST_EVENT_TIMEOUT_MS: ms.default(LIMITS.wholeAnswerTimeoutMs),
  STREAM_PAUSE_MS: ms.default(LIMITS.streamPauseMs),
  STREAM_MAX_ALWAYS_ON_MS: ms.default(LIMITS.streamMaxMs.alwaysOn),
  STREAM_MAX_WAKE_ON_REQUEST_MS: ms.default(LIMITS.streamMaxMs.wakeOnRequest),
  UPSTREAM_CONNECT_TIMEOUT_MS: ms.default(5_000),
  IMAGE_TIMEOUT_MS: ms.default(LIMITS.imageTimeoutMs),
  /** Networks that linked images may come from in addition to the public internet. */
  IMAGE_ALLOWED_NETWORKS: listOf(ipaddr.isValidCIDR, 'a network such as 10.20.0.0/16').default([]),
  /** Name servers for the host names in links, instead of the system's. */
  IMAGE_NAME_SERVERS: listOf(isNameServer, 'an IP address, with a port or without').default([]),
  /** How long a finished answer may wait for a client that has stopped reading. */
  UNREAD_ANSWER_TIMEOUT_MS: ms.default(60_000),

  LIMITER_CALL_TIMEOUT_MS: ms.default(2_000),
  LIMITER_SILENCE_MS: ms.default(200),
  SETTLE_WAIT_MS: ms.default(1_000),
  HEARTBEAT_MS: ms.default(1_000),
  RECONNECT_MS: ms.default(250),
  PRINCIPAL_TTL_MS: ms.default(10_000),
});

export type Config = z.output<typeof SCHEMA>;

/** @throws ConfigError */
export const readConfig = (env: Readonly<Record<string, string | undefined>> = process.env): Config =>
  loadConfig(SCHEMA, env);
