import { join } from 'node:path';
import { closeDb, createDb, createLogins, type Db, migrate } from '@tidegate/db';
import type { StackContext } from './context.ts';
import { type DemoLogins, loginsOf } from './demo/logins.ts';
import { planStandins, type StandinPlan, standinProcess } from './demo/models.ts';
import { demoModelsSettled, type SeededDemo, seedDemo } from './demo/seed.ts';
import { StackError } from './errors.ts';
import { type Files, makeFolder, ROOT, wipe, writeJson } from './files.ts';
import type { CtlEnv, StackInfo } from './info.ts';
import { adminUrl, gatewayUrl, healthUrl, type Instance, metricsUrl, planInstances } from './instances.ts';
import { type ModelsPlace, openModelsPlace } from './models-place.ts';
import type { StackOptions } from './options.ts';
import { endLeftovers } from './process/lock.ts';
import { endModels } from './process/models.ts';
import { answersOk, type ProcessSpec, processOf } from './process/process.ts';
import { Supervised } from './process/supervised.ts';
import { planPrometheus } from './prometheus.ts';
import type { Members } from './running.ts';
import { loadSecrets, type Secrets } from './secrets.ts';
import { addressesOf, anyOf, environmentOf, type Layout, type ServiceKind, servicesOf } from './services.ts';
import { givenStores } from './stores/given.ts';
import { openStores } from './stores/open.ts';

const DEFAULT_PORTS = { gateway: 8080, console: 3000 };

/** The outcome of a start. */
export interface Started {
  readonly layout: Layout;
  /** The demo's logins. Null: there is no demo. */
  readonly logins: DemoLogins | null;
  /** The demo's models that stand-ins serve. */
  readonly models: readonly string[];
  /** Where Prometheus is. Null: it was not asked for, or there is none. */
  readonly prometheus: string | null;
}

/** Starts everything, stage by stage. Once a stage is added, `members` stops it. */
export async function start(files: Files, members: Members, options: StackOptions): Promise<Started> {
  const phase = options.report?.phase ?? ((_title, work) => work(() => {}));
  const context: StackContext = { files, members, options, phase, given: givenStores(options) };
  const root = options.root ?? ROOT;
  const kinds = servicesOf(root).filter(({ name }) => name !== 'console' || options.console !== false);
  await endLeftovers(files);
  if (options.fresh) await forget(context);
  for (const folder of [files.logs, files.runner]) makeFolder(folder);
  const ports = options.ports === 'random' ? {} : { ...DEFAULT_PORTS, ...options.ports };
  const instances = await planInstances(kinds, options.scale ?? {}, ports);

  const stores = await openStores(context);
  const db = createDb(stores.databaseUrl, { maxConnections: 2 });
  try {
    const demo = options.demo ?? true;
    const planned = demo ? await planStandins() : [];
    const place = openModelsPlace({ root, files, demo });
    if (place.warning) options.report?.warned?.(place.warning);
    const { secrets, models } = await prepareDatabase(context, place, stores.databaseUrl, db, planned);
    const logins = demo ? await loginsOf(db, secrets) : null;
    if (logins) warnOfLost(logins, secrets, options);
    const layout: Layout = { root, files, models: place, secrets, instances, stores };
    const standins = planned.filter(({ model }) => models.includes(model.name));
    await startServices(context, kinds, layout, standins, db);
    writeJson(files.env, ctlEnv(layout, options));
    const prometheus = options.observe ? await startPrometheus(context, layout) : null;
    return { layout, logins, models, prometheus };
  } finally {
    await closeDb(db);
  }
}

function warnOfLost({ owner, apiKey }: DemoLogins, secrets: Secrets, options: StackOptions): void {
  const { report } = options;
  const { email } = secrets.owner;
  // With OIDC_ONLY, no password lets anyone in.
  if (owner === null && oidcOnlyOf(options) !== 'true')
    report?.warned?.(
      `${email} cannot sign in with the password that was made for this data folder. To set a new one: ctl member set-password --email ${email}`,
    );
  if (apiKey === null)
    report?.warned?.(
      `The demo's API key was revoked or deleted. To create a new one: ctl key create --org ${secrets.demo?.org} --name 'Local stack'`,
    );
}

async function forget({ files, given, options }: StackContext): Promise<void> {
  if (given.databaseUrl || given.redisUrl) {
    throw new StackError('--fresh deletes only data in the stores that the local stack starts.', {
      hint: 'Empty your own database and Redis yourself, or unset DATABASE_URL and REDIS_URL.',
    });
  }
  // `wipe` deletes the models' records, too. Nothing could find the processes afterwards.
  await endModels(files, options.stopTimeoutMs);
  wipe(files);
}

function prepareDatabase(
  { files, given, options, members, phase }: StackContext,
  place: ModelsPlace,
  url: string,
  db: Db,
  standins: readonly StandinPlan[],
): Promise<SeededDemo> {
  return phase('database', async (note) => {
    members.assertWanted();
    const applied = await migrate(url);
    if (!given.databaseUrl) await createLogins(url, loadSecrets(files).databasePasswords);
    note(applied.length > 0 ? 'migrated' : 'up to date');
    if (options.demo ?? true) return seedDemo(db, files, standins, place);
    return { secrets: loadSecrets(files), models: [] };
  });
}

/** Starts the gateways last, so that their first catalog shows the models as running. */
async function startServices(
  { files, members, options, phase }: StackContext,
  kinds: readonly ServiceKind[],
  layout: Layout,
  standins: readonly StandinPlan[],
  db: Db,
): Promise<void> {
  const create = (spec: ProcessSpec) => new Supervised(processOf(spec), members.events);
  const models = standins.map((plan) => create(standinProcess(plan, layout.root, files)));
  const processesOf = (kind: ServiceKind) =>
    layout.instances
      .filter(({ service }) => service === kind.name)
      .map((instance) => create(specOf(kind, instance, layout, options)));
  const behind = kinds.filter(({ isPublic }) => !isPublic).map(processesOf);
  const atTheFront = kinds.filter(({ isPublic }) => isPublic).flatMap(processesOf);

  await phase('models and services', async (note) => {
    for (const stage of [models, ...behind]) await members.addStage(stage);
    await Promise.all([...models, ...behind.flat()].map((process) => process.start()));
    const { demo } = layout.secrets;
    const names = standins.map(({ model }) => model.name);
    if (names.length > 0 && demo) await demoModelsSettled(db, demo.org, names);
    await members.addStage(atTheFront);
    await Promise.all(atTheFront.map((process) => process.start()));
    members.assertWanted();
    note(`${models.length + behind.flat().length + atTheFront.length} processes`);
  });
}

async function startPrometheus(
  { members, options, phase }: StackContext,
  layout: Layout,
): Promise<string | null> {
  return phase('Prometheus', async (note) => {
    const prometheus = await planPrometheus(layout).catch((error: Error) => {
      note('none');
      options.report?.warned?.(`--observe: ${error.message}`);
    });
    if (!prometheus) return null;
    const supervised = new Supervised(processOf(prometheus.spec), members.events);
    await members.addStage([supervised]);
    await supervised.start();
    return prometheus.url;
  });
}

function specOf(kind: ServiceKind, instance: Instance, layout: Layout, { env, stopTimeoutMs }: StackOptions) {
  return {
    name: instance.name,
    command: process.execPath,
    args: kind.args(instance, layout),
    cwd: layout.root,
    env: { ...environmentOf(kind, instance, layout), ...env?.[kind.name], ...env?.[instance.name] },
    logFile: join(layout.files.logs, `${instance.name}.log`),
    ready: answersOk(adminUrl(instance, 'readyz')),
    stopTimeoutMs: stopTimeoutMs ?? kind.stopTimeoutMs,
  };
}

const ctlEnv = (layout: Layout, options: StackOptions): CtlEnv => ({
  DATABASE_URL: layout.stores.databaseUrlFor('ctl'),
  REDIS_URL: layout.stores.redisUrlFor('ctl'),
  LIMITER_ADDRESSES: addressesOf(layout, 'limiter'),
  RUNNER_ADDRESS: anyOf(layout, 'runner'),
  SECRET_KEY: layout.secrets.secretKey,
  SERVICE_TOKEN: layout.secrets.serviceTokens.ctl,
  // The same as the console gets.
  OIDC_ONLY: oidcOnlyOf(options),
});

const oidcOnlyOf = ({ env }: StackOptions): string =>
  ({ ...process.env, ...env?.console }).OIDC_ONLY || 'false';

/** The current state of the stack. */
export function describe({ layout, logins, models, prometheus }: Started, members: Members): StackInfo {
  const { instances, secrets } = layout;
  const gateways = instances.filter(({ service }) => service === 'gateway').map(gatewayUrl);
  const site = instances.find(({ service }) => service === 'console');
  return {
    gateway: gateways[0] ?? '',
    gateways,
    console: site ? `http://127.0.0.1:${site.port}` : null,
    owner: logins?.owner ?? null,
    org: (logins && secrets.demo?.org) ?? null,
    apiKey: logins?.apiKey ?? null,
    models,
    prometheus,
    redis: layout.stores.redisUrl,
    postgres: layout.stores.databaseUrl,
    services: instances.map((instance) => ({
      name: instance.service,
      pid: members.pidOf(instance.name),
      health: healthUrl(instance),
      metrics: metricsUrl(instance),
    })),
  };
}
