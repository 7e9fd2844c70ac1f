import { createHash } from 'node:crypto';
import type { StoredDriver } from '@tidegate/contracts/driver-settings';

type Origin =
  | { readonly origins: readonly string[] }
  | { readonly commandSha256: string }
  | { readonly workload: string };

/** Where it runs, for the audit trail. A URL's path and a command may hold secrets. */
export function originOf({ driver, settings }: StoredDriver): Origin {
  switch (driver) {
    case 'external':
      return { origins: [...new Set(settings.urls.map((url) => new URL(url).origin))] };
    case 'process':
      return { commandSha256: createHash('sha256').update(settings.command).digest('hex') };
    case 'kubernetes':
      return { workload: `${settings.namespace}/${settings.kind}/${settings.name}` };
  }
}
