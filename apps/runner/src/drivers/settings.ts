import { isDeepStrictEqual } from 'node:util';
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
  if (!isDriver(driver)) return { driver: 'unusable', reason: 'This runner has no such driver.' };
  const parsed = driverSettings[driver].safeParse(settings);
  if (!parsed.success) return unusable(driver, parsed.error);
  return { driver, settings: parsed.data } as DriverSettings;
}

const isDriver = (name: string): name is keyof typeof driverSettings => Object.hasOwn(driverSettings, name);

/** Whether both lead to the same servers. How those are started and probed may differ. */
export const isSameServer = (one: DriverSettings, other: DriverSettings): boolean =>
  isDeepStrictEqual(serverOf(one), serverOf(other));

function serverOf(driver: DriverSettings): unknown {
  if (driver.driver === 'unusable') return null;
  if (driver.driver === 'process') return driver.settings.command;
  if (driver.driver === 'external') return driver.settings.urls;
  const { namespace, kind, name, service, port } = driver.settings;
  return { namespace, kind, name, service, port };
}

function unusable(driver: string, error: z.ZodError): DriverSettings {
  const fields = [...new Set(error.issues.map(({ path }) => String(path[0] ?? 'settings')))].join(', ');
  return { driver: 'unusable', reason: `The settings of its ${driver} driver are not valid: ${fields}.` };
}
