import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { filesOf, makeFolder } from './files.ts';
import { Supervised } from './process/supervised.ts';
import { planPrometheus } from './prometheus.ts';

/** Serves what it was told, at the address that it was told. */
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
  if (!prometheus) throw new Error('it was not found');
  const config = prometheus.spec.args[0]?.replace('--config.file=', '') ?? '';
  expect(JSON.parse(readFileSync(config, 'utf8'))).toMatchObject({
    rule_files: ['/checkout/infra/observe/alerts.yml'],
    scrape_configs: [
      { job_name: 'tidegate-gateway', static_configs: [{ targets: ['127.0.0.1:11', '127.0.0.1:12'] }] },
      { job_name: 'tidegate-runner', static_configs: [{ targets: ['127.0.0.1:13'] }] },
    ],
  });
  const process_ = new Supervised(
    { ...prometheus.spec, cwd: folder },
    { died: () => {}, ready: () => {}, spawned: () => {} },
  );
  await process_.start();
  expect((await fetch(`${prometheus.url}/-/ready`)).status).toBe(200);
  await process_.stop();
});

it('has none to run where PATH has none', async () => {
  process.env.PATH = folder;
  expect(await plan()).toBeNull();
});
