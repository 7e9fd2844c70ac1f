export * from './kept.ts';
export * from './limits.ts';
export * from './plan.ts';
export * from './time.ts';
export * from './usage.ts';
