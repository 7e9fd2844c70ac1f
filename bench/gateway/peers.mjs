// The peers that Tidegate is compared with. Each is a separate process that relays requests to the
// same model.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { findProgram } from '@tidegate/embedded';
import { freePort } from '@tidegate/testing';

const HERE = dirname(fileURLToPath(import.meta.url));
/** Only the bench downloads it, into a folder that git ignores. The product does not need it. */
const PORTKEY = { name: '@portkey-ai/gateway', version: '1.15.2' };
const PORTKEY_DIR = join(HERE, '../../.local/bench/portkey');
const STARTED_MS = 20_000;

/**
 * Resolves when the program has printed something, or answers at `url`. Rejects, and leaves nothing
 * running, when it ends before that or takes too long.
 *
 * @returns {Promise<{ pid: number, line: string, stop: () => void }>}
 */
export async function launch(command, args, { url, env } = {}) {
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
  const ended = once(child, 'close').then(([code]) => {
    throw new Error(`${command} ended with ${code}`);
  });
  ended.catch(() => {});
  try {
    const started = url ? answering(url) : once(child.stdout, 'data').then(([line]) => String(line).trim());
    const line = await Promise.race([started, ended, late(`${command} does not start`)]);
    child.stdout.resume();
    return { pid: child.pid ?? 0, line, stop: () => child.kill('SIGTERM') };
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
}

const late = (message) =>
  new Promise((_resolve, reject) => setTimeout(() => reject(new Error(message)), STARTED_MS).unref());

async function answering(url) {
  for (const endMs = performance.now() + STARTED_MS; performance.now() < endMs; ) {
    const answer = await fetch(url).catch(() => null);
    if (answer) {
      await answer.arrayBuffer();
      return '';
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`nothing answers at ${url}`);
}

const node = (script) => async (port, upstream) =>
  launch(process.execPath, [join(HERE, script), String(port), upstream]);

async function nginx(port, upstream) {
  const program = await findProgram({
    title: 'nginx',
    names: ['nginx', '/usr/sbin/nginx'],
    packages: ['nginx-light'],
  });
  const dir = await mkdtemp(join(tmpdir(), 'tidegate-bench-nginx-'));
  const config = join(dir, 'nginx.conf');
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${dir}/${name};`)
    .join(' ');
  await writeFile(
    config,
    `daemon off; worker_processes 1; pid ${dir}/pid; error_log stderr error; events { worker_connections 4096; }
     http { access_log off; ${temp} keepalive_requests 1000000000;
       upstream model { server ${new URL(upstream).host}; keepalive 256; keepalive_requests 1000000000; }
       server { listen 127.0.0.1:${port}; location / {
         proxy_pass http://model; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; } } }`,
  );
  return launch(program, ['-c', config, '-p', dir], { url: `http://127.0.0.1:${port}/v1/models` });
}

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
  nginx: { start: nginx, headers: () => ({}) },
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
