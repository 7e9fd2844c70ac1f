export { type Admin, type AdminOptions, startAdmin } from './admin.ts';
export { type CounterCell, CounterCells, type HistogramCell, HistogramCells } from './cells.ts';
export { type Chore, startChore, untilNextMs } from './chore.ts';
export { clientAddress, networkOf } from './client-address.ts';
export { withDeadline } from './deadline.ts';
export { createProxyWarning } from './forwarded.ts';
export { createLineLog, type LineFields, type LineLog } from './line-log.ts';
export { createLogger, type Logger, type LoggerOptions } from './logger.ts';
export {
  Counter,
  createMetrics,
  Gauge,
  Histogram,
  observeStore,
  Registry,
  readGauge,
  readGauges,
} from './metrics.ts';
export { createOutage, type Outage } from './outage.ts';
export { runService, type Service } from './service.ts';
export * from './settings.ts';
export { openStdout } from './stdout.ts';
export { version } from './version.ts';
export { within } from './within.ts';
