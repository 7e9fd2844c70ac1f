export * from './api-key.ts';
export * from './errors.ts';
export * from './ids.ts';
export * from './sealed.ts';
export * from './settlement.ts';
