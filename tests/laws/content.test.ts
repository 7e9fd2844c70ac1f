import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Control, PublishModelInput } from '@tidegate/control';
import type { Db } from '@tidegate/db';
import { type Collector, eventually, startCollector, type Upstream } from '@tidegate/testing';
import { signInByForm } from '../support/console.ts';
import { must, OPERATOR, type OpenControl, openControl } from '../support/control.ts';
import { call } from '../support/http.ts';
import { post } from '../support/org.ts';
import { useStack } from '../support/stack.ts';
import { Canaries } from './content/canaries.ts';
import { startCanaryModel } from './content/model.ts';
import { filesBelow, metricsOf, type Place, postgresOf, redisOf } from './content/places.ts';
import { begin, breakOff, calls, requestOf, send } from './content/traffic.ts';

const CONSOLE_CACHE = fileURLToPath(new URL('../../apps/console/.next', import.meta.url));
/** The part of a key's value that no list shows and that does not name the organization. */
const SECRET = [9, 39] as const;
const RECOVERY = { intervalMs: 100 };

/** The services' temporary files are below this folder. */
const temporary = mkdtempSync(join(tmpdir(), 'tidegate-content-'));
const debugging = { LOG_LEVEL: 'trace', TMPDIR: temporary };

describe('content', () => {
  let collector: Collector;
  const stack = useStack(async () => {
    collector = await startCollector();
    const traced = {
      ...debugging,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '50',
    };
    return {
      console: true,
      // Its files and its log are searched, too.
      ownPostgres: true,
      demo: false,
      env: {
        gateway: traced,
        limiter: traced,
        metering: traced,
        runner: traced,
        console: debugging,
      },
    };
  });
  const canaries = new Canaries();
  const startedAtMs = Date.now();
  let model: Upstream;
  let managed: OpenControl;
  let control: Control;
  let db: Db;
  let org: string;
  let key: string;
  const base = () => stack().info.gateway;

  beforeAll(async () => {
    model = await startCanaryModel(canaries);
    managed = openControl(stack());
    ({ control, db } = managed);
    org = must(await control.createOrg(OPERATOR, { name: 'Canary', plan: 'Pro' })).slug;
    key = (await secretKey()).key;
    await publishAll();
    await answers('tide');
  });
  afterAll(async () => {
    await managed?.close();
    await model?.close();
    await collector?.close();
    rmSync(temporary, { recursive: true, force: true });
  });

  async function secretKey() {
    const limits = { requestsPerMinute: 6000, requestsAtOnce: 100 };
    const made = must(await control.createKey(OPERATOR, { org, name: 'Canary', ...limits }));
    canaries.add('an API key', made.key.slice(...SECRET));
    return made;
  }

  async function publishAll(): Promise<void> {
    const publish = async (
      settings: Pick<PublishModelInput, 'name' | 'kind' | 'mode' | 'urls' | 'command'>,
    ) =>
      must(
        await control.publishModel(OPERATOR, {
          org,
          contextTokens: 1000,
          ...settings,
          ...(settings.urls && { upstreamKey: canaries.at('UpstreamKey') }),
        }),
      );
    const here = { mode: 'always_on' as const, urls: [model.url] };
    await publish({ name: 'tide', kind: 'text', ...here });
    await publish({ name: 'eyes', kind: 'vision', ...here });
    await publish({ name: 'stopped', kind: 'text', ...here });
    const command = `exec '${process.execPath}' packages/standin/dist/main.js --port $PORT --name wake`;
    await publish({ name: 'wake', kind: 'text', mode: 'wake_on_request', command });
    must(await control.stopModel(OPERATOR, { org, name: 'stopped' }));
  }

  const answers = (name: string) =>
    eventually(async () => {
      const answer = await post(base(), key, requestOf(canaries, 'whole', { model: name }));
      return answer.status === 200;
    }, RECOVERY);

  const found = (places: Iterable<Place>): string[] =>
    [...places].flatMap(({ where, bytes }) => canaries.findIn(bytes).map((what) => `${where}: ${what}`));

  it('passes through the whole system, in answered and failed requests', async () => {
    await send(base(), calls(canaries, key));
    await answers('eyes');
    await answers('wake');
    (await begin({ base: base(), key }, canaries)).hangUp();
    await breakOff({ base: base(), key }, canaries);
    expect(model.requests.length).toBeGreaterThan(20);
    await eventually(async () => must(await control.showUsage(OPERATOR, { org })).totals.errors > 5);
  });

  it('comes through while processes are killed, and into a dead letter', async () => {
    const refused = await secretKey();
    await db.$executeRawUnsafe(
      `ALTER TABLE request ADD CONSTRAINT refused_check CHECK (key_id <> '${refused.id}')`,
    );
    await call(base(), { key: refused.key, body: requestOf(canaries, 'whole') });
    const isDead = ({ where, bytes }: Place) =>
      where === 'metrics of metering' && /^tidegate_metering_jobs\{state="failed".*\} 1$/m.test(`${bytes}`);
    await eventually(async () => (await metricsOf(stack())).some(isDead), { intervalMs: 500 });
    for (const name of ['metering', 'limiter', 'gateway']) {
      await begin({ base: base(), key }, canaries);
      stack().kill(name, 'SIGKILL');
      await answers('tide');
    }
    await eventually(
      async () => must(await control.showUsage(OPERATOR, { org })).month.tokens.reserved === 0,
      RECOVERY,
    );
  });

  it('comes through the console', async () => {
    const site = stack().info.console ?? '';
    const account = { email: 'owner@canary.example', password: canaries.at('Password') };
    must(await control.addMember(OPERATOR, { org, role: 'owner', ...account }));
    expect(await signInByForm(site, { ...account, password: canaries.at('WrongPassword') })).toBeNull();
    const cookie = (await signInByForm(site, account)) ?? '';
    const asked = await fetch(`${site}/o/${org}/try/chat`, {
      method: 'POST',
      headers: { cookie, origin: site, authorization: `Bearer ${key}` },
      body: JSON.stringify(requestOf(canaries, 'stream', { stream: true })),
    });
    expect(await asked.text()).toContain(canaries.at('Chunk'));
    for (const screen of ['keys', 'try', 'usage', 'api']) {
      const page = await fetch(`${site}/o/${org}/${screen}`, { headers: { cookie } });
      expect(page.status).toBe(200);
      expect(await page.text()).not.toContain(key);
    }
  });

  it('is in no metric [image.not-stored] [key.value.not-stored] [metered.counts-only] [service.counts-only]', async () => {
    expect(found(await metricsOf(stack()))).toEqual([]);
  });

  it('is in no span of a trace [image.not-stored] [key.value.not-stored] [metered.counts-only] [service.counts-only]', async () => {
    const services = () => new Set(collector.spans().map(({ service }) => service));
    await eventually(() => services().size === 4);
    const places = collector.received.map(({ body }) => ({ where: 'spans', bytes: Buffer.from(body) }));
    expect(found(places)).toEqual([]);
  });

  it('is looked for in exactly the metrics that docs/metrics.md lists', async () => {
    const text = readFileSync(fileURLToPath(new URL('../../docs/metrics.md', import.meta.url)), 'utf8');
    const [, ...sections] = text.split(/^## /m).map((section) => ({
      title: section.split('\n', 1)[0]?.toLowerCase(),
      names: [...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name),
    }));
    const listed = (title: string) => sections.find((one) => one.title === title)?.names ?? [];
    for (const { where, bytes } of await metricsOf(stack())) {
      const shown = [...bytes.toString().matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name);
      const service = where.replace('metrics of ', '');
      expect(shown.sort()).toEqual([...listed(service), ...listed('every service')].sort());
    }
  });

  it('is in nothing that Redis holds, jobs and dead letters included [image.not-stored] [key.value.not-stored] [metered.counts-only] [service.counts-only]', async () => {
    expect(found(await redisOf(stack()))).toEqual([]);
  });

  it('is in no row of any table [image.not-stored] [key.value.not-stored] [metered.counts-only] [service.counts-only]', async () => {
    expect(found(await postgresOf(db))).toEqual([]);
  });

  it('is in no file: not in the most detailed log, nor in a file of Redis or Postgres, nor in a temporary one [image.not-stored] [key.value.not-stored] [metered.counts-only] [service.counts-only]', async () => {
    const { dataDir } = stack();
    await stack().stop();
    expect(found(filesBelow(dataDir))).toEqual([]);
    expect(found(filesBelow(temporary))).toEqual([]);
    expect(found(filesBelow(CONSOLE_CACHE, startedAtMs))).toEqual([]);
  });

  it('would be found in any form', () => {
    const folder = join(temporary, 'planted');
    mkdirSync(folder);
    const text = `"é ${canaries.at('Planted')}/"`;
    const bytes = Buffer.from(text);
    const forms = {
      raw: text,
      json: JSON.stringify({ text }),
      url: encodeURIComponent(text),
      hex: bytes.toString('hex'),
      'hex in capitals': bytes.toString('hex').toUpperCase(),
      'base64 at 0': bytes.toString('base64'),
      'base64 at 1': Buffer.from(`x${text}`).toString('base64'),
      'base64 at 2': Buffer.from(`xx${text}`).toString('base64url'),
      'utf-16': Buffer.from(text, 'utf16le'),
    };
    for (const [name, form] of Object.entries(forms)) writeFileSync(join(folder, name), form);
    const names = [...filesBelow(folder)]
      .filter((place) => found([place]).length > 0)
      .map(({ where }) => where);
    expect(names.map((path) => path.slice(folder.length + 1)).sort()).toEqual(Object.keys(forms).sort());
  });
});
