import { EmbeddedError } from '../errors.ts';
import { findOnPath, run } from '../process.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];
const PACKAGE = 'chromium';

export interface FindChromiumOptions {
  readonly onLog?: (line: string) => void;
}

/**
 * A Chromium or Chrome on PATH; else, as root where there is apt, installed from the system's packages.
 * @throws EmbeddedError with one line on how to install one here
 */
export async function findChromium({ onLog }: FindChromiumOptions = {}): Promise<string> {
  const found = await findOnPath(...NAMES);
  if (found !== undefined) return found;
  const apt = await findOnPath('apt-get');
  if (apt !== undefined && process.getuid?.() === 0) {
    const options = { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } };
    const install = {
      command: apt,
      args: ['install', '-y', '-qq', '--no-install-recommends', PACKAGE],
      options,
    };
    await run(install, onLog).catch(async () => {
      await run({ command: apt, args: ['update', '-qq'], options }, onLog);
      await run(install, onLog);
    });
    const installed = await findOnPath(...NAMES);
    if (installed !== undefined) return installed;
  }
  throw new EmbeddedError('no Chromium found: install the package chromium of your system');
}
