/** The services that call other services, by the names that their tokens are kept under. */
export const SERVICE_NAMES = ['gateway', 'metering', 'console', 'ctl'] as const;
export type ServiceName = (typeof SERVICE_NAMES)[number];
