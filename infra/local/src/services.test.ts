import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, expect, it } from '@jest/globals';
import { CALLER_NAMES } from '@tidegate/contracts';
import { filesOf, ROOT } from './files.ts';
import type { Instance } from './instances.ts';
import type { Secrets } from './secrets.ts';
import { environmentOf, inherited, type Layout, servicesOf } from './services.ts';

interface Variable {
  readonly name: string;
  readonly secret: boolean;
}

/** What each built program reads. */
const variables = JSON.parse(
  execFileSync(process.execPath, [join(ROOT, 'infra/configuration/generate.mjs'), '--check'], {
    encoding: 'utf8',
  }),
) as Record<string, Variable[]>;
const secretsOf = (program: string): string[] =>
  (variables[program] ?? []).filter(({ secret }) => secret).map(({ name }) => name);
const ALL = [...new Set(Object.keys(variables).flatMap(secretsOf))];
const OUTER = 'of the launcher';

const before = { ...process.env };
afterEach(() => {
  process.env = { ...before };
});

const layout: Layout = {
  root: ROOT,
  files: filesOf('/data'),
  models: { node: '', standin: '', settings: {}, warning: null },
  secrets: {
    serviceTokens: Object.fromEntries(CALLER_NAMES.map((name) => [name, 'token'])),
    secretKey: 'key',
    authSecret: 'secret',
  } as unknown as Secrets,
  stores: {
    databaseUrl: 'postgresql://operator',
    redisUrl: 'redis://operator',
    databaseUrlFor: (service) => `postgresql://${service}`,
    redisUrlFor: (service) => `redis://${service}`,
  },
  instances: [],
};

it.each(servicesOf(ROOT).map((kind) => [kind.name, kind] as const))(
  'the %s is given no secret from outside that it does not read, whether in a file or not',
  (name, kind) => {
    const instance: Instance = { service: name, name, port: 1, adminPort: 2 };
    for (const suffix of ['', '_FILE']) {
      process.env = { ...before, ...Object.fromEntries(ALL.map((secret) => [secret + suffix, OUTER])) };
      const env = environmentOf(kind, instance, layout);
      const own = new Set(Object.keys(kind.env(instance, layout)));
      const fromOutside = ALL.filter((secret) => env[secret + suffix] === OUTER);
      expect(fromOutside.sort()).toEqual(
        secretsOf(name)
          .filter((secret) => !own.has(secret))
          .sort(),
      );
    }
  },
);

it('stand-ins and Prometheus are given no such secret, but whatever else the launcher has', () => {
  const env = { ...Object.fromEntries(ALL.map((secret) => [secret, OUTER])), HF_HOME: '/models' };
  expect(inherited(env)).toEqual({ HF_HOME: '/models' });
});
