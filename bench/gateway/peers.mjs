// The peers that Tidegate is compared with. Each is a separate process that relays requests to the
// same model.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from '@tidegate/testing';
import { launch } from './launch.mjs';
import { nginxRelay } from './nginx.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
/** Only the bench downloads it, into a folder that git ignores. The product does not need it. */
const PORTKEY = { name: '@portkey-ai/gateway', version: '1.15.2' };
const PORTKEY_DIR = join(HERE, '../../.local/bench/portkey');

const node = (script) => async (port, upstream) =>
  launch(process.execPath, [join(HERE, script), String(port), upstream]);

async function portkey(port) {
  const main = join(PORTKEY_DIR, 'node_modules', PORTKEY.name, 'build/start-server.js');
  if (!existsSync(main)) {
    const args = ['install', '--prefix', PORTKEY_DIR, '--no-audit', '--no-fund', '--ignore-scripts'];
    await promisify(execFile)('npm', [...args, `${PORTKEY.name}@${PORTKEY.version}`]);
  }
  const url = `http://127.0.0.1:${port}/`;
  return launch(process.execPath, [main, `--port=${port}`, '--headless'], {
    url,
    env: { NODE_ENV: 'production' },
  });
}

const PEERS = {
  'Express relay': { start: node('express.mjs'), headers: () => ({}) },
  'node:http relay': { start: node('http.mjs'), headers: () => ({}) },
  nginx: { start: nginxRelay, headers: () => ({}) },
  'Portkey gateway': {
    start: portkey,
    headers: (upstream) => ({ 'x-portkey-provider': 'openai', 'x-portkey-custom-host': `${upstream}/v1` }),
  },
};

/** Starts every peer that is available here, and says why the others are not. */
export async function startPeers(upstream, names = Object.keys(PEERS)) {
  const started = [];
  for (const name of names) {
    const { start, headers } = PEERS[name];
    const port = await freePort();
    try {
      const peer = await start(port, upstream);
      started.push({ name, url: `http://127.0.0.1:${port}/v1`, headers: headers(upstream), ...peer });
    } catch (error) {
      process.stdout.write(`  ${name} is left out: ${String(error.message).split('\n')[0]}\n`);
    }
  }
  return started;
}
