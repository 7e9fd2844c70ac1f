export * from './limits.ts';
export * from './time.ts';
export * from './usage.ts';
