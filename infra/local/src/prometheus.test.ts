import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { filesOf, makeFolder } from './files.ts';
import { processOf } from './process/process.ts';
import { Supervised } from './process/supervised.ts';
import { planPrometheus } from './prometheus.ts';

/** Is ready, as Prometheus would be, at the address that it was given. */
const PROGRAM = `#!${process.execPath}
const { createServer } = require('node:http');
const [host, port] = process.argv.find((arg) => arg.startsWith('--web.listen-address=')).split('=')[1].split(':');
createServer((request, response) => {
  response.statusCode = request.url === '/-/ready' ? 200 : 404;
  response.end();
}).listen(Number(port), host);
`;

const instances = [
  { service: 'gateway', name: 'gateway', port: 1, adminPort: 11 },
  { service: 'gateway', name: 'gateway-2', port: 2, adminPort: 12 },
  { service: 'runner', name: 'runner', port: 3, adminPort: 13 },
] as const;
const path = process.env.PATH ?? '';
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidegate-prometheus-'));
});
afterEach(() => {
  process.env.PATH = path;
  rmSync(folder, { recursive: true, force: true });
});

const plan = () => {
  const files = filesOf(join(folder, 'data'));
  makeFolder(files.logs);
  return planPrometheus({ root: '/checkout', files, instances });
};

it('runs the Prometheus on PATH with every process of the stack and the alert rules', async () => {
  writeFileSync(join(folder, 'prometheus'), PROGRAM);
  chmodSync(join(folder, 'prometheus'), 0o755);
  process.env.PATH = `${folder}${delimiter}${path}`;
  const prometheus = await plan();
  const config = prometheus.spec.args[0]?.replace('--config.file=', '') ?? '';
  expect(JSON.parse(readFileSync(config, 'utf8'))).toMatchObject({
    rule_files: ['/checkout/infra/observe/alerts.yml'],
    scrape_configs: [
      { job_name: 'tidegate-gateway', static_configs: [{ targets: ['127.0.0.1:11', '127.0.0.1:12'] }] },
      { job_name: 'tidegate-runner', static_configs: [{ targets: ['127.0.0.1:13'] }] },
    ],
  });
  const process_ = new Supervised(processOf({ ...prometheus.spec, cwd: folder }), {
    died: () => {},
    ready: () => {},
    spawned: () => {},
  });
  await process_.start();
  expect((await fetch(`${prometheus.url}/-/ready`)).status).toBe(200);
  await process_.stop();
});

/** A program that does what some lines of JavaScript say. */
const program = (name: string, code: string) => {
  writeFileSync(join(folder, name), `#!${process.execPath}\n${code}`);
  chmodSync(join(folder, name), 0o755);
};

it("takes the Prometheus of the system's packages where PATH has none, and unpacks it once", async () => {
  program('apt-get', "require('node:fs').writeFileSync('prometheus.deb', '')");
  program(
    'dpkg',
    `const [{ mkdirSync, appendFileSync, writeFileSync }, bin] = [require('node:fs'), process.argv[4] + '/usr/bin'];
    mkdirSync(bin, { recursive: true });
    writeFileSync(bin + '/prometheus', '', { mode: 0o755 });
    appendFileSync('${join(folder, 'unpacked')}', 'once');`,
  );
  process.env.PATH = folder;
  const command = join(folder, 'data/prometheus-package/usr/bin/prometheus');
  for (const _time of [1, 2]) expect((await plan()).spec.command).toBe(command);
  expect(readFileSync(join(folder, 'unpacked'), 'utf8')).toBe('once');
});

it('says which package to install where neither PATH nor apt has one', async () => {
  process.env.PATH = folder;
  await expect(plan()).rejects.toThrow('install the system package prometheus');
});
