import { join } from 'node:path';
import { canRead, UNPRIVILEGED } from '@tidegate/processes';
import { type Files, STANDIN } from './files.ts';

/**
 * The runner's settings of its models' user. Under root that is another user, with a home in the
 * data folder. If that user cannot read the checkout, for example in root's home, then the demo's
 * model could not start: models run as root, and the runner's log says what that means.
 */
export function modelUserSettings(root: string, { models }: Files): Record<string, string> {
  if (process.getuid?.() !== 0 || process.env.RUNNER_MODEL_USER) return {};
  const needed = [process.execPath, join(root, 'node_modules'), join(root, STANDIN)];
  return canRead(UNPRIVILEGED, needed) ? { RUNNER_MODEL_HOME: models } : { RUNNER_MODEL_USER: 'root' };
}
