import {
  driverSettings,
  type ExternalSettings,
  type KubernetesSettings,
  type ProcessSettings,
} from '@tidegate/contracts/driver-settings';
import type { z } from 'zod';

export type DriverSettings =
  | { readonly driver: 'process'; readonly settings: ProcessSettings }
  | { readonly driver: 'external'; readonly settings: ExternalSettings }
  | { readonly driver: 'kubernetes'; readonly settings: KubernetesSettings }
  | { readonly driver: 'unusable'; readonly reason: string };

/** Reads a model's driver from its row. The reason names fields, never their values. */
export function parseSettings(driver: string, settings: unknown): DriverSettings {
  if (driver === 'process') {
    const parsed = driverSettings.process.safeParse(settings);
    return parsed.success ? { driver, settings: parsed.data } : unusable(driver, parsed.error);
  }
  if (driver === 'external') {
    const parsed = driverSettings.external.safeParse(settings);
    return parsed.success ? { driver, settings: parsed.data } : unusable(driver, parsed.error);
  }
  if (driver === 'kubernetes') {
    const parsed = driverSettings.kubernetes.safeParse(settings);
    return parsed.success ? { driver, settings: parsed.data } : unusable(driver, parsed.error);
  }
  return { driver: 'unusable', reason: 'This runner has no such driver.' };
}

function unusable(driver: string, error: z.ZodError): DriverSettings {
  const fields = [...new Set(error.issues.map(({ path }) => String(path[0] ?? 'settings')))].join(', ');
  return { driver: 'unusable', reason: `The settings of its ${driver} driver are not valid: ${fields}.` };
}
