import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { FoundModel, FoundServer } from '@tidegate/control';
import { closeDb, createDb, type Db } from '@tidegate/db';
import { PATIENT_DB, testPostgres } from '@tidegate/testing';
import { unpublished } from './discovery.ts';
import type { StackInfo } from './info.ts';
import { greet, type Terminal } from './launcher.ts';

const same = (text: string) => text;

/** The greeting of a stack in this folder, with these model servers found. */
function said(
  dataDir: string,
  servers: readonly FoundServer[] = [],
  needsOrg = false,
  owner: StackInfo['owner'] = null,
): string {
  const lines: string[] = [];
  const print = (text = '') => void lines.push(text);
  const terminal: Terminal = {
    phase: (_title, work) => work(() => {}),
    print,
    bold: same,
    dim: same,
    red: same,
    green: same,
    cyan: same,
  };
  const nothing = {
    console: 'http://127.0.0.1:3000',
    owner,
    org: needsOrg ? null : 'demo',
    apiKey: null,
    models: [],
    prometheus: null,
    services: [],
  };
  const info = { gateway: '', gateways: [], redis: '', postgres: '', ...nothing };
  greet({ info, dataDir }, terminal, { servers, needsOrg });
  return lines.join('\n');
}

/** The command that the greeting names for managing a stack in this folder. */
const named = (dataDir: string): string => /Manage it with (.+)\. Ctrl-C/.exec(said(dataDir))?.[1] ?? '';

const LOCAL = resolve(import.meta.dirname, '../../../.local');

it.each([
  ['false', 'owner@demo.local  its-password'],
  ['true', 'through your identity provider only (OIDC_ONLY)'],
])('a start says how to sign in, with OIDC_ONLY=%s', (OIDC_ONLY, how) => {
  process.env.OIDC_ONLY = OIDC_ONLY;
  try {
    const owner = { email: 'owner@demo.local', password: 'its-password' };
    expect(/^ *Sign in +(.*)$/m.exec(said(LOCAL, [], false, owner))?.[1]).toBe(how);
  } finally {
    delete process.env.OIDC_ONLY;
  }
});

it('a start without a demo says how to create the first account', () => {
  expect(said(LOCAL)).toMatch(/^ *Sign in +with your account\. .*: npm run -s ctl -- bootstrap --help$/m);
});

describe('a start says how to manage the stack', () => {
  it('by the plain command when it is kept in the default folder', () => {
    expect(named(LOCAL)).toBe('npm run -s ctl -- --help');
  });

  it.each(['/srv/tide gate', "/srv/o'neil", '/srv/$HOME'])('by one that names the folder %s', (dataDir) => {
    const command = named(dataDir).replace('npm run -s ctl -- --help', 'printenv TIDEGATE_DATA_DIR');
    expect(execFileSync('sh', ['-c', command], { encoding: 'utf8' })).toBe(`${dataDir}\n`);
  });
});

const model = (upstreamModel: string): FoundModel => ({
  name: upstreamModel.replace(/:latest$/, ''),
  upstreamModel,
  kind: 'text',
  contextTokens: 4_096,
  contextAssumed: true,
});
const OLLAMA = 'http://127.0.0.1:11434/v1';
const ollama = (...models: string[]): FoundServer => ({
  server: 'Ollama',
  url: OLLAMA,
  needsKey: false,
  models: models.map(model),
});

describe('a start says of model servers that run on this machine', () => {
  it('which they are, and the line that publishes their models', () => {
    const text = said(LOCAL, [ollama('gemma3:latest', 'b', 'c', 'd', 'e', 'f', 'g')]);
    expect(text).toContain(`Ollama at ${OLLAMA}: gemma3, b, c, d, e and 2 more`);
    expect(text).toContain('npm run -s ctl -- model discover --publish --org demo');
  });

  it('why one has nothing to publish, and how its models are published when it asks for a key', () => {
    expect(said(LOCAL, [ollama()])).toContain(`Ollama at ${OLLAMA} answers, but has no chat models yet.`);
    expect(said(LOCAL, [ollama()])).not.toContain('discover --publish');
    expect(said(LOCAL, [{ ...ollama(), needsKey: true }])).toMatch(
      /asks for a key\. .*: npm run -s ctl -- model publish .* --upstream-key-stdin/,
    );
  });

  it('how to create an organization first when there is none', () => {
    const text = said(LOCAL, [ollama('b')], true);
    expect(text).toMatch(/ctl -- org create --name '.+'\n[\s\S]*ctl -- model discover --publish\n/);
    expect(said(LOCAL, [ollama('b')])).not.toContain('org create');
  });

  it('nothing when there are none', () => {
    expect(said(LOCAL)).not.toMatch(/discover|Found/);
  });

  it('only what is not published yet', async () => {
    const postgres = await testPostgres();
    const db = createDb(postgres.url, PATIENT_DB);
    try {
      const published = {
        kind: 'text',
        mode: 'always_on',
        contextTokens: 1,
        sleepAfterS: 1,
        driver: 'external',
      } as const;
      const unnamed = { servers: [ollama('b')], needsOrg: true };
      expect(await unpublished(postgres.url, [ollama('b')])).toEqual(unnamed);
      const org = await db.org.create({
        data: { id: 'org_abcdefghijkl', slug: 'o', name: 'O', planId: 'plan_pro' },
      });
      const urls = { settings: { urls: ['http://gpu1:8000/v1', OLLAMA] }, condition: 'running' } as const;
      const common = {
        ...published,
        ...urls,
        orgId: org.id,
        publishedAt: new Date(),
        conditionAt: new Date(),
      };
      await db.model.create({
        data: { ...common, id: 'mdl_a', name: 'own', upstreamModel: 'gemma3:latest' },
      });
      await db.model.create({ data: { ...common, id: 'mdl_b', name: 'b' } });
      await db.model.create({ data: { ...common, id: 'mdl_c', name: 'c', deletedAt: new Date() } });
      const away = { ...ollama(), url: 'http://127.0.0.1:1234/v1' };
      const found = [ollama('gemma3:latest', 'b', 'c'), ollama('b'), ollama(), away];
      expect(await unpublished(postgres.url, found)).toEqual({
        servers: [ollama('c'), away],
        needsOrg: false,
      });
    } finally {
      await closeDb(db);
      await postgres.drop();
    }
    // Without a database, nothing can be known.
    const unknown = { servers: [ollama('b')], needsOrg: false };
    expect(await unpublished(postgres.url, [ollama('b')])).toEqual(unknown);
  });

  it('what it knows, even when the connection for it cannot be closed', async () => {
    const postgres = await testPostgres();
    const close = async (db: Db) => {
      await closeDb(db);
      throw new Error('broke off');
    };
    try {
      const told = await unpublished(postgres.url, [ollama('b')], { open: createDb, close });
      expect(told).toEqual({ servers: [ollama('b')], needsOrg: true });
    } finally {
      await postgres.drop();
    }
  });
});
