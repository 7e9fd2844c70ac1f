export * from './limits.ts';
export * from './month.ts';
export * from './time.ts';
export * from './usage.ts';
export * from './window.ts';
