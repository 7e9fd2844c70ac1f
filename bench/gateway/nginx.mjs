// nginx with one worker, as a relay and as a model.
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProgram } from '@tidegate/embedded';
import { freePort } from '@tidegate/testing';
import { MODELS, WHOLE_ANSWER } from './answers.mjs';
import { launch } from './launch.mjs';

/** @param blocks what the http block holds besides its settings, given the address to listen on */
async function startNginx(port, blocks) {
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
       ${blocks(`127.0.0.1:${port}`)} }`,
  );
  return launch(program, ['-c', config, '-p', dir], { url: `http://127.0.0.1:${port}/v1/models` });
}

export const nginxRelay = (port, upstream) =>
  startNginx(
    port,
    (address) =>
      `upstream model { server ${new URL(upstream).host}; keepalive 256; keepalive_requests 1000000000; }
       server { listen ${address}; location / {
         proxy_pass http://model; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; } }`,
  );

/** A model that gives every request the same whole answer. Resolves to its URL, too. */
export async function nginxModel() {
  const port = await freePort();
  const model = await startNginx(
    port,
    (address) =>
      `default_type application/json; keepalive_timeout 60s;
       server { listen ${address};
         location = /v1/models { return 200 '${MODELS}'; }
         location / { return 200 '${WHOLE_ANSWER}'; } }`,
  );
  return { ...model, url: `http://127.0.0.1:${port}` };
}
