/** The services that call other services, by the names that their tokens are kept under. */
export const CALLER_NAMES = ['gateway', 'metering', 'console', 'ctl'] as const;
export type CallerName = (typeof CALLER_NAMES)[number];
