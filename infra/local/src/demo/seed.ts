import { type Actor, type Control, createControl, type Result } from '@tidegate/control';
import type { Db } from '@tidegate/db';
import { until } from '@tidegate/processes';
import { StackError } from '../errors.ts';
import type { Files } from '../files.ts';
import type { ModelsPlace } from '../models-place.ts';
import { type Demo, loadSecrets, rememberDemo, type Secrets } from '../secrets.ts';
import { DEMO_MODELS, type DemoPublication, publication, type StandinPlan } from './models.ts';

const ORG_NAME = 'Demo';
const PLAN = 'Pro';
const KEY = { name: 'Local stack', requestsPerMinute: 600, requestsAtOnce: 32 };
const SETTLE_TIMEOUT_MS = 30_000;
const OPERATOR: Actor = { kind: 'operator' };

/**
 * No service listens while the demo is created. The runner and the limiter read it from the
 * database when they start.
 */
const notYet = () => Promise.reject(new Error('the services have not started yet'));

export interface SeededDemo {
  readonly secrets: Secrets;
  /** The names of the models that stand-ins serve. */
  readonly models: readonly string[];
}

/**
 * Creates the demo organization with its owner, key and models, or completes it. Later it only
 * gives models the new address of their stand-in. Those that the user has deleted or pointed
 * elsewhere stay as they are.
 */
export async function seedDemo(
  db: Db,
  files: Files,
  plans: readonly StandinPlan[],
  place: ModelsPlace,
): Promise<SeededDemo> {
  const secrets = loadSecrets(files);
  const control = createControl({
    db,
    limiter: {
      refreshOrgs: notYet,
      revokeKey: notYet,
      forgetOrg: notYet,
      month: notYet,
      findRequest: notYet,
    },
    runner: {
      pools: ['local'],
      refresh: notYet,
      start: notYet,
      stop: notYet,
      activity: notYet,
      inspect: notYet,
      checkWorkload: notYet,
      room: notYet,
    },
    secretKey: Buffer.from(secrets.secretKey, 'base64'),
    now: Date.now,
  });
  const orgs = must(await control.listOrgs(OPERATOR));
  const known = orgs.some(({ slug }) => slug === secrets.demo?.org);
  const demo = known && secrets.demo ? secrets.demo : await createDemo(control, secrets);
  const wanted = DEMO_MODELS.map((model) => publication(model, plans, place));
  const standins = wanted.map(locationOf);
  const before = demo.standins;
  // If this start is interrupted, a model may have either place.
  rememberDemo(files, before ? { ...demo, standins: [...before, ...standins] } : demo);
  const published = await db.model.findMany({
    where: { org: { slug: demo.org }, deletedAt: null },
    select: { id: true, name: true, settings: true },
  });
  const models: string[] = [];
  for (const settings of wanted) {
    const there = published.find(({ name }) => name === settings.name);
    if (before && !(there && before.includes(locationOf(there.settings as ModelLocation)))) continue;
    if (there) await moveModel(db, there, settings);
    else must(await control.publishModel(OPERATOR, { org: demo.org, ...settings }));
    models.push(settings.name);
  }
  return { secrets: rememberDemo(files, { ...demo, standins }), models };
}

/** What settings say about where a model runs. */
type ModelLocation = Partial<Pick<DemoPublication, 'urls' | 'command'>>;

const locationOf = ({ urls = [], command }: ModelLocation): string => command ?? urls.join(',');

/** Updates where a model runs, which changes with each start. There is no runner to tell yet. */
async function moveModel(
  db: Db,
  { id, settings }: { readonly id: string; readonly settings: unknown },
  { urls, command }: DemoPublication,
): Promise<void> {
  const moved = { ...(settings as object), ...(urls ? { urls } : { command }) };
  await db.model.update({ where: { id }, data: { settings: moved } });
  if (!urls) return;
  await db.model.updateMany({
    where: { id, condition: { in: ['running', 'failed'] } },
    data: { condition: 'starting', conditionReason: null },
  });
}

/**
 * Waits until none of the demo's models that are always on is starting.
 * @throws StackError when one does not start in time
 */
export async function demoModelsSettled(db: Db, org: string, models: readonly string[]): Promise<void> {
  const starting = () =>
    db.model.findMany({
      where: {
        org: { slug: org },
        name: { in: [...models] },
        deletedAt: null,
        mode: 'always_on',
        condition: 'starting',
      },
    });
  const settled = await until(async () => (await starting()).length === 0, { timeoutMs: SETTLE_TIMEOUT_MS });
  if (settled) return;
  const names = (await starting()).map(({ name }) => name).join(', ');
  throw new StackError(`These models did not start: ${names}`, {
    hint: 'The logs of the models and of the runner say why.',
  });
}

async function createDemo(control: Control, secrets: Secrets): Promise<Demo> {
  const { slug: org } = must(await control.createOrg(OPERATOR, { name: ORG_NAME, plan: PLAN }));
  const { email, password } = secrets.owner;
  const owner = await control.addMember(OPERATOR, { org, role: 'owner', email, password });
  // An interrupted start may have created the account already, with this same password.
  const taken = !owner.ok && owner.refusal.field === 'password';
  must(taken ? await control.addMember(OPERATOR, { org, role: 'owner', email }) : owner);
  const { key } = must(await control.createKey(OPERATOR, { org, ...KEY }));
  return { org, apiKey: key };
}

function must<T>(result: Result<T>): T {
  if (result.ok) return result.value;
  throw new StackError(`The demo organization could not be created: ${result.refusal.message}`, {
    hint: 'npm start -- --fresh begins with an empty database.',
  });
}
