import { EVERYTHING } from '../load/chaos.ts';
import { emptied } from './emptied.ts';
import { hangUps } from './hang-ups.ts';
import { killsOf } from './kills.ts';
import { outages } from './outages.ts';
import { pausedGateway } from './pause.ts';
import { exactQuota } from './quota.ts';
import { revocation } from './revocation.ts';
import type { Scenario } from './scenario.ts';

export const SCENARIOS: readonly Scenario[] = [
  killsOf('kills of everything', EVERYTHING),
  pausedGateway,
  exactQuota,
  hangUps,
  revocation,
  outages,
  emptied,
];
