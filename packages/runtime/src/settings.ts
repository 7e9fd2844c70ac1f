/*
 * This package's other entry point, for programs that read a configuration without loading a logger
 * or metrics.
 */
export { ConfigError, loadConfig, readSecretFiles, secret, type Variables } from './config.ts';
export {
  address,
  addresses,
  count,
  databaseUrl,
  durationMs,
  flag,
  host,
  type PoolAddress,
  poolAddresses,
  poolName,
  port,
  redisPrefix,
  secretKey,
  serviceFields,
  trustedProxies,
  wholeNumber,
} from './fields.ts';
export {
  callerFields,
  callerOf,
  checkTlsPems,
  type ServiceIdentity,
  type ServiceToken,
  type TlsFiles,
  type Trust,
  trustByTokensOf,
  trustFields,
  trustOf,
} from './trust.ts';
