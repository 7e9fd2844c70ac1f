/** A model's state as users see it. */
export type Condition = 'stopped' | 'starting' | 'running' | 'asleep' | 'failed';
