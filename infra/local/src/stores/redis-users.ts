import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../files.ts';

/** The users in infra/redis.acl. `default` is the operator, who may do everything. */
export const REDIS_USERS = ['default', 'limiter', 'metering', 'ctl'] as const;
export type RedisUser = (typeof REDIS_USERS)[number];

/** The name of a user's password in infra/redis.acl. */
const PASSWORD: Record<RedisUser, string> = {
  default: 'REDIS_PASSWORD',
  limiter: 'LIMITER_PASSWORD',
  metering: 'METERING_PASSWORD',
  ctl: 'CTL_PASSWORD',
};

/**
 * Fills in infra/redis.acl, as infra/redis.sh does. The services inherit this process's
 * REDIS_PREFIX.
 */
export function redisUsers(
  passwords: Readonly<Record<RedisUser, string>>,
  prefix = process.env.REDIS_PREFIX || 'tg:',
): string {
  const lines = readFileSync(join(ROOT, 'infra/redis.acl'), 'utf8').split('\n');
  const text = lines.filter((line) => !line.startsWith('#')).join('\n');
  return REDIS_USERS.reduce(
    (filled, user) => {
      const hash = createHash('sha256').update(passwords[user]).digest('hex');
      return filled.replaceAll(`SHA256_OF_${PASSWORD[user]}`, hash);
    },
    text.replaceAll('tg:', prefix),
  );
}

/** The URL with which a service logs in to the Redis at `url`. */
export function redisUrlOf(
  url: string,
  user: RedisUser,
  passwords: Readonly<Record<RedisUser, string>>,
): string {
  const login = new URL(url);
  login.username = user;
  login.password = passwords[user];
  return login.href;
}
