/** A model's state as users see it. */
export type Condition = 'stopped' | 'starting' | 'running' | 'asleep' | 'failed';

/** What conditions are called in calls between services (runner.proto). */
export const WIRE_CONDITIONS = {
  stopped: 'CONDITION_STOPPED',
  starting: 'CONDITION_STARTING',
  running: 'CONDITION_RUNNING',
  asleep: 'CONDITION_ASLEEP',
  failed: 'CONDITION_FAILED',
} as const satisfies Record<Condition, string>;

export const CONDITIONS = Object.keys(WIRE_CONDITIONS) as readonly Condition[];

/** Undefined: none, or one that this release does not know. */
export const conditionFromWire = (wire: string | number | undefined): Condition | undefined =>
  CONDITIONS.find((condition) => WIRE_CONDITIONS[condition] === wire);

/** The changes of a model's condition that the runner keeps. The screens say the same. */
export const KEPT_CONDITIONS = { days: 35, changes: 200 } as const;
