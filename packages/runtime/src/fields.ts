import { LOCAL_POOL, POOL_NAME, parseSecretKey } from '@tidegate/contracts';
import { z } from 'zod';
import { LOG_LEVELS } from './levels.ts';

/*
 * The fields that several programs' configurations share. The same thing has the same bounds and
 * the same message everywhere. A message never shows the value. The descriptions are for
 * docs/configuration.md.
 */

const MAX_PORT = 65_535;
/** The longest delay that a Node timer accepts. With a longer one, it fires immediately. */
export const MAX_TIMER_MS = 2 ** 31 - 1;
const MAX_SHUTDOWN_DELAY_MS = 3_600_000;

export function wholeNumber(min: number, max: number = Number.MAX_SAFE_INTEGER) {
  const range = max === Number.MAX_SAFE_INTEGER ? `of ${min} or more` : `from ${min} to ${max}`;
  const message = `must be a whole number ${range}`;
  return z
    .string()
    .regex(/^\d{1,16}$/, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, message);
}

/** A port to listen on. 0 means any free port. */
export const port = wholeNumber(0, MAX_PORT);
export const count = wholeNumber(1);
export const durationMs = wholeNumber(1, MAX_TIMER_MS);

export const trustedProxies = wholeNumber(0)
  .default(0)
  .describe(
    'Number of proxies in front of the service whose `X-Forwarded-For` is trusted. If that header arrives while this is 0, the log says so once',
  );

export const flag = z
  .enum(['true', 'false'], 'must be true or false')
  .transform((value) => value === 'true')
  .default(false);

/** The host name or address to listen on. By default, only this machine is served. */
export const host = z.string().default('127.0.0.1');

/** A name or an IPv4 address, an IPv6 address in brackets, or gRPC's own form with its scheme. */
const ADDRESS = /^([^\s:]+|\[[^\s\]]+\]|(dns|ipv[46]):\S+):(\d{1,5})$/;

/** Where to reach a service. */
export const address = z.string().refine((text) => {
  const number = ADDRESS.exec(text)?.[3];
  return number !== undefined && Number(number) <= MAX_PORT;
}, 'must be host:port');

export const addresses = z
  .string()
  .transform((text) => text.split(',').map((entry) => entry.trim()))
  .refine(
    (list) => list.every((entry) => address.safeParse(entry).success),
    'must be host:port, or several separated by commas',
  )
  .describe(
    'Where the limiters are. All addresses of each host are used, and its name is looked up again from time to time',
  );

/** The name of a pool of runners. */
export const poolName = z
  .string()
  .regex(POOL_NAME, 'must be 1 to 63 lowercase letters, digits and -, starting with a letter or digit');

/** Where the runners of one pool are reached. */
export interface PoolAddress {
  readonly pool: string;
  readonly address: string;
}

/** A comma inside an address (`ipv4:a:1,b:1`) begins no pool. */
const NEXT_POOL = /\s*,\s*(?=[^,=]*=)/;

/** `host:port` of the pool `local`, or `pool=host:port` of each pool, separated by commas. */
export const poolAddresses = z
  .string()
  .transform((text, context): PoolAddress[] => {
    const pools = text.split(NEXT_POOL).map((entry) => {
      const at = entry.indexOf('=');
      return { pool: at < 0 ? LOCAL_POOL : entry.slice(0, at).trim(), address: entry.slice(at + 1).trim() };
    });
    const distinct = new Set(pools.map(({ pool }) => pool)).size === pools.length;
    const valid = ({ pool, address: at }: PoolAddress) =>
      POOL_NAME.test(pool) && address.safeParse(at).success;
    if (distinct && pools.every(valid)) return pools;
    const message = 'must be host:port, or pool=host:port of each pool, separated by commas';
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  })
  .describe(
    'Where the runners are: one address, or that of each [pool](models.md#pools), as in `local=host:port,gpu0=host:port`',
  );

export const databaseUrl = z
  .url({ protocol: /^postgres(ql)?$/, error: 'must be a URL that starts with postgresql://' })
  .describe(
    'Postgres, directly or through a pooler ([which were tried](reliability.md#which-stores-were-tried)), with the login of this service',
  );

export const redisPrefix = z
  .string()
  .regex(/^[A-Za-z0-9:_-]{1,32}$/, 'must be 1 to 32 letters, digits, ":", "_" and "-"')
  .default('tg:')
  .describe('What every key in Redis begins with. Must be the same in limiter, metering and ctl');

/** The installation's secret key, which seals and unseals upstream keys. */
export const secretKey = z
  .string()
  .transform((setting, context) => {
    const key = parseSecretKey(setting);
    if (key) return key;
    context.addIssue({ code: 'custom', message: 'must be 32 bytes in base64' });
    return z.NEVER;
  })
  .describe('Seals and unseals upstream keys. Must be the same in runner, console and ctl');

/** What every service reads. */
export const serviceFields = (adminPort: number) => ({
  ADMIN_HOST: host.describe('Where `/healthz`, `/readyz` and `/metrics` are answered'),
  ADMIN_PORT: port.default(adminPort).describe('The port of `ADMIN_HOST`. 0 means any free one'),
  LOG_LEVEL: z
    .enum(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`)
    .default('info')
    .describe('The least serious level of log lines that are written'),
  /** For `Service.configure`. */
  SHUTDOWN_DELAY_MS: wholeNumber(0, MAX_SHUTDOWN_DELAY_MS)
    .default(0)
    .describe(
      'How long the service keeps serving after SIGTERM while it reports that it is not ready, so that callers notice first. In images: 5000',
    ),
});
