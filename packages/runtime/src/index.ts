export { type Admin, type AdminOptions, startAdmin } from './admin.ts';
export { clientAddress } from './client-address.ts';
export { ConfigError, loadConfig, readSecretFiles, secret, type Variables } from './config.ts';
export {
  address,
  addresses,
  count,
  databaseUrl,
  durationMs,
  flag,
  host,
  port,
  redisPrefix,
  secretKey,
  serviceFields,
  shutdownDelayMs,
  trustedProxies,
  wholeNumber,
} from './fields.ts';
export { createLineLog, type LineFields, type LineLog } from './line-log.ts';
export {
  createLogger,
  LOG_LEVELS,
  type Logger,
  type LoggerOptions,
  type LogLevel,
  openStdout,
} from './logger.ts';
export { Counter, createMetrics, Gauge, Histogram, Registry } from './metrics.ts';
export { runService, type Service } from './service.ts';
export {
  type Caller,
  callerFields,
  callerOf,
  type ServiceToken,
  type TlsFiles,
  type Trust,
  trustFields,
  trustOf,
} from './trust.ts';
