import { join } from 'node:path';
import { findOrUnpack, freePort, isFree } from '@tidegate/embedded';
import { makeFolder, writeWhole } from './files.ts';
import { adminAddress, type ServiceName } from './instances.ts';
import { answersOk, type ProcessSpec } from './process/process.ts';
import { inherited, type Layout } from './services.ts';

const PROGRAM = { name: 'prometheus', package: 'prometheus' };
const USUAL_PORT = 9_090;
const KEPT = '7d';
const STOP_TIMEOUT_MS = 10_000;

export interface Prometheus {
  readonly url: string;
  readonly spec: ProcessSpec;
}

/**
 * This machine's Prometheus, set up to scrape every process of the stack and to evaluate the alert
 * rules. It is the one on PATH, or else apt's package, unpacked under the data folder.
 * @throws EmbeddedError that says how to install one
 */
export async function planPrometheus({
  root,
  files,
  instances,
}: Pick<Layout, 'root' | 'files' | 'instances'>): Promise<Prometheus> {
  const command = await findOrUnpack(PROGRAM, files.prometheusPackage);
  const address = `127.0.0.1:${(await isFree(USUAL_PORT)) ? USUAL_PORT : await freePort()}`;
  const config = join(files.prometheus, 'prometheus.yml');
  makeFolder(files.prometheus);
  writeWhole(config, JSON.stringify(configOf(root, instances), null, 2));
  const url = `http://${address}`;
  return {
    url,
    spec: {
      name: 'prometheus',
      command,
      args: [
        `--config.file=${config}`,
        `--storage.tsdb.path=${join(files.prometheus, 'data')}`,
        `--storage.tsdb.retention.time=${KEPT}`,
        `--web.listen-address=${address}`,
      ],
      cwd: root,
      env: inherited(),
      logFile: join(files.logs, 'prometheus.log'),
      ready: answersOk(`${url}/-/ready`),
      stopTimeoutMs: STOP_TIMEOUT_MS,
    },
  };
}

/** JSON is YAML, too. */
function configOf(root: string, instances: Layout['instances']) {
  const jobs = new Map<ServiceName, string[]>();
  for (const instance of instances)
    jobs.set(instance.service, [...(jobs.get(instance.service) ?? []), adminAddress(instance)]);
  return {
    global: { scrape_interval: '5s', evaluation_interval: '15s' },
    rule_files: [join(root, 'infra/observe/alerts.yml')],
    scrape_configs: [...jobs].map(([service, targets]) => ({
      job_name: `tidegate-${service}`,
      static_configs: [{ targets }],
    })),
  };
}
