import { EVERYTHING } from '../load/chaos.ts';
import { clocks } from './clocks.ts';
import { fullDisk } from './disk.ts';
import { emptied } from './emptied.ts';
import { failover, handOver, sentinelFailover, sentinelHung } from './failover.ts';
import { hangUps } from './hang-ups.ts';
import { killsOf } from './kills.ts';
import { meteringBetween } from './metering.ts';
import { midnight } from './midnight.ts';
import { olderCopies } from './older-copies.ts';
import { outages } from './outages.ts';
import { pausedGateway } from './pause.ts';
import { plans } from './plans.ts';
import { exactQuota, slots } from './races.ts';
import { revocation } from './revocation.ts';
import type { Scenario } from './scenario.ts';
import { stopping } from './stopping.ts';

export const SCENARIOS: readonly Scenario[] = [
  killsOf('kills', 'kills of everything, one after the other', EVERYTHING),
  pausedGateway,
  handOver,
  failover,
  sentinelFailover,
  sentinelHung,
  fullDisk,
  meteringBetween,
  clocks,
  exactQuota,
  slots,
  hangUps,
  ...outages,
  stopping,
  revocation,
  plans,
  midnight,
  emptied,
  olderCopies,
];
