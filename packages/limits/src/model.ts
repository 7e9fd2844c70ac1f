/*
 * What the limiter's scripts must do, as plain arithmetic. Nothing that ships calls it: tests hold
 * the scripts against it.
 */
export * from './month.ts';
export * from './window.ts';
