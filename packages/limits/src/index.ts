export * from './limits.ts';
export * from './plan.ts';
export * from './retention.ts';
export * from './time.ts';
export * from './usage.ts';
