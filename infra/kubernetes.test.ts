import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';

// biome-ignore lint/suspicious/noExplicitAny: objects of Kubernetes, as they are written
type Json = any;

const ROOT = join(import.meta.dirname, '..');
const HERE = join(import.meta.dirname, 'kubernetes');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

interface Kustomization {
  readonly kind: 'Kustomization' | 'Component';
  readonly resources?: readonly string[];
  readonly components?: readonly string[];
  readonly patches?: readonly { target: { kind: string }; patch: string }[];
  readonly images?: readonly { name: string; newTag: string }[];
}
const kustomization = (folder: string): Kustomization =>
  parse(readFileSync(join(folder, 'kustomization.yaml'), 'utf8'));
const documents = (path: string): Json[] =>
  parseAllDocuments(readFileSync(path, 'utf8')).map((document) => {
    if (document.errors.length > 0) throw document.errors[0];
    return document.toJS();
  });

/** Everything that a folder applies, before its patches. */
const resourcesOf = (folder: string): Json[] =>
  (kustomization(folder).resources ?? []).flatMap((entry) =>
    entry.endsWith('.yaml') ? documents(join(folder, entry)) : resourcesOf(join(folder, entry)),
  );

const FOLDERS = [
  'base',
  'migrate',
  'ctl',
  'bootstrap',
  'monitoring',
  'tracing',
  'model-namespace',
  'example',
  'example/migrate',
  'example/ctl',
  'example/bootstrap',
  'example/models',
];
const base = resourcesOf(join(HERE, 'base'));
const SERVICES = ['gateway', 'limiter', 'metering', 'runner', 'console'];
const TASKS = ['migrate', 'ctl', 'bootstrap'];
const PROGRAMS = [...SERVICES, ...TASKS];
const all: Json[] = [...base, ...TASKS.flatMap((name) => resourcesOf(join(HERE, name)))];

const find = (kind: string, name: string): Json =>
  all.find((object) => object.kind === kind && object.metadata.name === name);
/** The pod of a program, whatever makes it. */
const podOf = (program: string): Json =>
  find('Deployment', program)?.spec.template.spec ??
  find('Job', program)?.spec.template.spec ??
  find('Pod', program)?.spec;
const containerOf = (program: string): Json => podOf(program).containers[0];
const variablesOf = (program: string): Map<string, Json> =>
  new Map(containerOf(program).env.map((variable: Json) => [variable.name, variable]));

/** The program in the image, whose login and token the pod uses. */
const imageOf = (program: string): string => (program === 'bootstrap' ? 'ctl' : program);

const compose = parse(read('docker-compose.yml'), { merge: true }).services;
const secondsOf = (duration: string): number => {
  const [, amount, unit] = /^(\d+)(s|m)$/.exec(duration) ?? [];
  return Number(amount) * (unit === 'm' ? 60 : 1);
};

describe('the kustomizations', () => {
  it('name files and folders that are there, and leave none out', () => {
    for (const folder of FOLDERS) {
      const { resources = [], components = [] } = kustomization(join(HERE, folder));
      const here = readdirSync(join(HERE, folder)).filter(
        (name) => name.endsWith('.yaml') && !['kustomization.yaml', 'adapter-rules.yaml'].includes(name),
      );
      expect(resources.filter((name) => name.endsWith('.yaml')).sort()).toEqual(here.sort());
      for (const component of components)
        expect(kustomization(join(HERE, folder, component)).kind).toBe('Component');
      expect(resourcesOf(join(HERE, folder)).length).toBeGreaterThan(0);
    }
  });

  it('of the example replaces every image', () => {
    const replaced = ['example', ...TASKS.map((task) => `example/${task}`)].flatMap(
      (folder) => kustomization(join(HERE, folder)).images ?? [],
    );
    const used = PROGRAMS.map((name) => containerOf(name).image.split(':')[0]);
    expect(replaced.map(({ name }) => name).sort()).toEqual(used.sort());
  });
});

/*
 * The types of the official client are made from the API's own description. They know each field
 * and its type, but not which ones are required.
 */
describe('every object', () => {
  let classes: Record<string, { getAttributeTypeMap?: () => Attribute[] }>;
  interface Attribute {
    readonly baseName: string;
    readonly type: string;
  }
  beforeAll(async () => {
    classes = (await import('@kubernetes/client-node')) as never;
  });

  /** What does not fit the type, as paths. */
  function unfit(value: Json, type: string, path: string): string[] {
    const [, item] = /^(?:Array|Set)<(.+)>$/.exec(type) ?? [];
    const [, member] = /^\{ \[key: string\]: (.+); \}$/.exec(type) ?? [];
    if (item !== undefined) {
      if (!Array.isArray(value)) return [`${path} is no list`];
      return value.flatMap((one, at) => unfit(one, item, `${path}[${at}]`));
    }
    if (member !== undefined)
      return Object.entries(value).flatMap(([key, one]) => unfit(one, member, `${path}.${key}`));
    if (type === 'IntOrString') return ['string', 'number'].includes(typeof value) ? [] : [path];
    if (type === 'any') return [];
    const map = classes[type]?.getAttributeTypeMap?.();
    if (!map) return typeof value === type ? [] : [`${path} is no ${type}`];
    if (typeof value !== 'object' || value === null) return [`${path} is no ${type}`];
    return Object.entries(value).flatMap(([key, one]) => {
      const attribute = map.find(({ baseName }) => baseName === key);
      return attribute ? unfit(one, attribute.type, `${path}.${key}`) : [`${path}.${key} is unknown`];
    });
  }
  const typeOf = ({ apiVersion, kind }: Json): string => {
    const version = apiVersion.split('/').at(-1);
    return `${version[0].toUpperCase()}${version.slice(1)}${kind}`;
  };

  it('has only fields that Kubernetes knows, with values of their type', () => {
    for (const folder of FOLDERS)
      for (const object of resourcesOf(join(HERE, folder))) {
        // Kinds of the Prometheus Operator.
        if (['ServiceMonitor', 'PrometheusRule'].includes(object.kind)) continue;
        expect(Object.keys(classes)).toContain(typeOf(object));
        expect(unfit(object, typeOf(object), `${object.kind} ${object.metadata.name}`)).toEqual([]);
      }
  });

  it('is checked by types that notice mistakes', () => {
    const wrong = { apiVersion: 'apps/v1', kind: 'Deployment', spec: { replica: 1, replicas: '1' } };
    expect(unfit(wrong, 'V1Deployment', 'x')).toEqual([
      'x.spec.replica is unknown',
      'x.spec.replicas is no number',
    ]);
  });
});

describe('each pod', () => {
  it.each(PROGRAMS)('of %s runs as an ordinary user, on a disk that it cannot write to', (program) => {
    expect(podOf(program).securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 1000,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(containerOf(program).securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(podOf(program).automountServiceAccountToken).toBe(program === 'runner');
    expect(podOf(program)).not.toHaveProperty('hostNetwork');
  });

  it.each(PROGRAMS)('of %s has an image of this version, and bounded resources', (program) => {
    const { image, resources } = containerOf(program);
    expect(image).toBe(`tidegate-${imageOf(program)}:${JSON.parse(read('package.json')).version}`);
    expect(resources.requests).toEqual({ cpu: expect.anything(), memory: expect.anything() });
    expect(resources.limits.memory).toMatch(/^\d+(Mi|Gi)$/);
    for (const { emptyDir } of podOf(program).volumes)
      if (emptyDir) expect(emptyDir.sizeLimit).toMatch(/^\d+Mi$/);
  });

  it.each(SERVICES)('of %s is probed, and spread over nodes and zones', (program) => {
    const { startupProbe, livenessProbe, readinessProbe } = containerOf(program);
    expect(startupProbe.httpGet).toEqual({ path: '/healthz', port: 'admin' });
    expect(livenessProbe.httpGet).toEqual({ path: '/healthz', port: 'admin' });
    expect(readinessProbe.httpGet).toEqual({ path: '/readyz', port: 'admin' });
    const own = { matchLabels: { 'app.kubernetes.io/name': program } };
    expect(podOf(program).topologySpreadConstraints[0].labelSelector).toEqual(own);
    expect(JSON.stringify(podOf(program).affinity.podAntiAffinity)).toContain(JSON.stringify(own));
    expect(find('Deployment', program).spec.selector).toEqual(own);
    expect(find('PodDisruptionBudget', program).spec).toEqual({ maxUnavailable: 1, selector: own });
    expect(find('Service', program).spec.selector).toEqual(own.matchLabels);
  });

  it.each(SERVICES)('of %s has time to end', (program) => {
    const delayS = Number(variablesOf(program).get('SHUTDOWN_DELAY_MS').value) / 1_000;
    const imageDelayS = 5;
    const graceS = podOf(program).terminationGracePeriodSeconds;
    expect(graceS - delayS).toBeGreaterThanOrEqual(
      secondsOf(compose[program].stop_grace_period) - imageDelayS - 5,
    );
  });

  it('of the runner goes only once a new one is ready, so that one stands by during a rollout', () => {
    const { maxSurge, maxUnavailable } = find('Deployment', 'runner').spec.strategy.rollingUpdate;
    expect(maxUnavailable).toBe(0);
    expect(maxSurge).toBeGreaterThan(0);
  });

  const longestMs = 630_000;

  it('of the gateway has time for the longest answer', () => {
    const delayMs = Number(variablesOf('gateway').get('SHUTDOWN_DELAY_MS').value);
    expect(podOf('gateway').terminationGracePeriodSeconds * 1_000).toBeGreaterThan(delayMs + longestMs);
  });

  it('of an ingress controller that reloads has time for the longest answer, by the guide and the example', () => {
    for (const path of ['docs/kubernetes.md', 'infra/kubernetes/example/ingress.yaml']) {
      const [, seconds] = /`worker-shutdown-timeout: (\d+)s`/.exec(read(path)) ?? [];
      expect(Number(seconds) * 1_000).toBeGreaterThan(longestMs);
    }
  });
});

describe('the environment', () => {
  it.each(PROGRAMS)('of %s has what docker-compose.yml must set', (program) => {
    const settings = compose[program].environment as Record<string, string>;
    const needed = Object.entries(settings).filter(([, value]) => !/^\$\{\w+:-/.test(value));
    // Models that the runner starts itself are in its image, and reached at its pod.
    const unneeded = new Set(['LOG_LEVEL', 'RUNNER_MODEL_HOST']);
    const given = variablesOf(program);
    const missing = needed.map(([name]) => name).filter((name) => !given.has(name) && !unneeded.has(name));
    expect(missing).toEqual([]);
  });

  it.each(['ctl', 'bootstrap'])(
    'tells %s the OIDC_ONLY of the console, as docker-compose.yml does',
    (program) => {
      expect(compose[program].environment.OIDC_ONLY).toBe(compose.console.environment.OIDC_ONLY);
      const [{ configMapRef }] = containerOf('console').envFrom;
      expect(variablesOf(program).get('OIDC_ONLY')?.valueFrom).toEqual({
        configMapKeyRef: { name: configMapRef.name, key: 'OIDC_ONLY', optional: true },
      });
    },
  );

  it('has every secret from a Secret of the program, and none in the manifests', () => {
    for (const program of PROGRAMS) {
      for (const [name, { value, valueFrom }] of variablesOf(program)) {
        if (!/SECRET|PASSWORD|TOKEN|DATABASE_URL|REDIS_URL/.test(name)) continue;
        expect([name, value]).toEqual([name, undefined]);
        const owner = name.startsWith('BOOTSTRAP_') ? program : imageOf(program);
        expect([name, valueFrom.secretKeyRef.name]).toEqual([name, `tidegate-${owner}`]);
      }
    }
    for (const folder of FOLDERS)
      expect(resourcesOf(join(HERE, folder)).filter(({ kind }) => kind === 'Secret')).toEqual([]);
  });

  it('needs no Secret and no setting that docs/kubernetes.md does not list', () => {
    const docs = read('docs/kubernetes.md');
    for (const program of PROGRAMS)
      for (const { valueFrom } of variablesOf(program).values())
        if (valueFrom) {
          const { key } = valueFrom.secretKeyRef ?? valueFrom.configMapKeyRef;
          expect(docs).toContain(`\`${key}\``);
        }
    const { data } = documents(join(HERE, 'example/console-settings.yaml'))[0];
    expect(Object.keys(data).sort()).toEqual(['CONSOLE_URL', 'GATEWAY_PUBLIC_URL']);
  });
});

describe('the pod of ctl', () => {
  it('is made anew and awaited before the command of the guide, because it lasts for an hour', () => {
    const verbs = read('docs/kubernetes.md').match(/^kubectl .*\bctl\b/gm) ?? [];
    expect(verbs.map((line) => line.split(' ')[1])).toEqual(['delete', 'apply', 'wait', 'exec', 'delete']);
  });
});

describe('the Job of the first organization', () => {
  it("does what docker-compose.yml's does, from a file", () => {
    const { args, volumeMounts } = containerOf('bootstrap');
    const [verb, flag, file] = args;
    expect([verb, flag]).toEqual([...compose.bootstrap.command, '--file']);
    const mount = volumeMounts.find(({ name }: Json) => name === 'bootstrap');
    const { configMap } = podOf('bootstrap').volumes.find(({ name }: Json) => name === 'bootstrap');
    const example = documents(join(HERE, 'example/bootstrap/settings.yaml'))[0];
    expect(example.metadata.name).toBe(configMap.name);
    expect(Object.keys(example.data).map((name) => `${mount.mountPath}/${name}`)).toEqual([file]);
    expect(parse(example.data['bootstrap.yaml'])).toEqual({
      organization: { name: 'Acme', plan: 'Pro' },
      owner: { email: expect.stringContaining('@') },
    });
  });

  it('runs after the services, and again after each rollout', () => {
    expect(find('Job', 'bootstrap').metadata.annotations).toEqual({
      'argocd.argoproj.io/hook': 'PostSync',
      'argocd.argoproj.io/hook-delete-policy': 'BeforeHookCreation',
    });
  });
});

describe('the network policies', () => {
  const policies = all.filter(({ kind }) => kind === 'NetworkPolicy');
  const policyOf = (program: string): Json =>
    policies.find(({ spec }) => spec.podSelector.matchLabels['app.kubernetes.io/name'] === program).spec;
  const nameOf = ({ podSelector }: Json): string => podSelector.matchLabels['app.kubernetes.io/name'];
  const callersOf = (program: string): string[] =>
    (policyOf(program).ingress ?? []).flatMap(({ from = [] }: Json) => from.map(nameOf));
  const calleesOf = (program: string): string[] =>
    policyOf(program).egress.flatMap(({ to = [] }: Json) => to.map(nameOf));
  /** Whether a program may call this port at any address. */
  const reaches = (program: string, wanted: number): boolean =>
    policyOf(program).egress.some(
      ({ to, ports }: Json) =>
        !to && ports.some(({ port, endPort = port }: Json) => port <= wanted && wanted <= endPort),
    );

  it.each(PROGRAMS)('close %s except for what they open', (program) => {
    expect(policyOf(program).policyTypes).toEqual(['Ingress', 'Egress']);
  });

  it('let each service be called by those that call it in docker-compose.yml', () => {
    expect(callersOf('limiter').sort()).toEqual(['bootstrap', 'console', 'ctl', 'gateway', 'metering']);
    expect(callersOf('runner').sort()).toEqual(['console', 'ctl', 'gateway']);
    for (const program of PROGRAMS)
      for (const callee of calleesOf(program)) {
        const shared = compose[program].networks.filter((name: string) =>
          compose[callee].networks.includes(name),
        );
        expect([program, callee, shared.length > 0]).toEqual([program, callee, true]);
        if (callee !== 'gateway') expect(callersOf(callee)).toContain(program);
      }
  });

  it.each([
    ['database', 5432, 'DATABASE_URL'],
    ['redis', 6379, 'REDIS_URL'],
  ])(
    'let only the programs reach the %s that are in its network in docker-compose.yml, and log in',
    (network, port, login) => {
      const reaching = PROGRAMS.filter((program) => reaches(program, port));
      expect(PROGRAMS.filter((program) => variablesOf(program).has(login))).toEqual(reaching);
      expect(reaching).toEqual(PROGRAMS.filter((program) => compose[program].networks.includes(network)));
    },
  );

  it.each(PROGRAMS)('open no port twice to %s', (program) => {
    const ranges: Json[] = policyOf(program).egress.flatMap(({ to, ports }: Json) => (to ? [] : ports));
    const sorted = ranges.filter(({ protocol }) => protocol !== 'UDP').sort((a, b) => a.port - b.port);
    const twice = sorted.slice(1).filter(({ port }, i) => port <= (sorted[i].endPort ?? sorted[i].port));
    expect(twice).toEqual([]);
  });

  it('let only gateways and the runner reach models', () => {
    expect(PROGRAMS.filter((program) => reaches(program, 8000))).toEqual(['gateway', 'runner']);
  });
});

describe('tracing', () => {
  const TRACED = ['gateway', 'limiter', 'metering', 'runner'];
  const settings = documents(join(HERE, 'example/tracing-settings.yaml'))[0];

  it('takes its variables from one ConfigMap and one Secret, and works without them', () => {
    const from = [{ configMapRef: settings.metadata.name }, { secretRef: settings.metadata.name }];
    const optional = from.map((one) =>
      Object.fromEntries(Object.entries(one).map(([kind, name]) => [kind, { name, optional: true }])),
    );
    for (const program of TRACED) expect(containerOf(program).envFrom).toEqual(optional);
    for (const name of Object.keys(settings.data)) expect(compose.gateway.environment).toHaveProperty(name);
  });

  it('reaches the collector from each traced service and from no other', () => {
    const [policy] = resourcesOf(join(HERE, 'tracing'));
    const [{ key, operator, values }] = policy.spec.podSelector.matchExpressions;
    expect([key, operator, values]).toEqual(['app.kubernetes.io/name', 'In', TRACED]);
    const { port } = new URL(settings.data.OTEL_EXPORTER_OTLP_ENDPOINT);
    expect(policy.spec.egress).toEqual([{ ports: [{ port: Number(port) }] }]);
    expect(kustomization(join(HERE, 'example')).components).toContain('../tracing');
  });

  it('and the alert rules: Prometheus names its jobs as they expect', () => {
    const { jobLabel, selector } = documents(join(HERE, 'monitoring/service-monitors.yaml'))[0].spec;
    const [job] = Object.values(selector.matchLabels);
    expect(Object.keys(selector.matchLabels)).toEqual([jobLabel]);
    expect(`up{job="${job}"}`).toMatch(/^up\{job="tidegate/);
    expect(read('infra/observe/alerts.yml')).toContain('up{job=~"tidegate.*"}');
  });

  it('and metrics: they keep the label `service`, whatever the Service of a further pool is called', () => {
    const { endpoints } = documents(join(HERE, 'monitoring/service-monitors.yaml'))[0].spec;
    expect(endpoints[0].honorLabels).toBe(true);
  });

  it('and metrics: Prometheus reaches the port of each service that a ServiceMonitor reads', () => {
    const { spec } = find('NetworkPolicy', 'tidegate');
    const admin = documents(join(HERE, 'monitoring/service-monitors.yaml'))[0].spec.endpoints[0].port;
    for (const program of SERVICES) {
      const { containerPort } = containerOf(program).ports.find(({ name }: Json) => name === admin);
      expect(spec.ingress[0].ports).toEqual([{ port: containerPort }]);
    }
  });
});

describe('certificate authorities of your own', () => {
  const { patches = [] } = kustomization(join(HERE, 'ca'));

  it.each(PROGRAMS)('are mounted in %s, and Node is told where', (program) => {
    const kind = ['Deployment', 'Job', 'Pod'].find((one) => find(one, program)) ?? '';
    const operations = patches
      .filter(({ target }) => target.kind.split('|').includes(kind))
      .flatMap(({ patch }): Json[] => parse(patch));
    const added = new Map(
      operations.map(({ op, path, value }) => {
        const names: string[] = path.split('/').slice(1, -1);
        const list = names.reduce((at, name) => at?.[name], find(kind, program));
        expect([op, path.endsWith('/-'), Array.isArray(list)]).toEqual(['add', true, true]);
        return [names.at(-1), value];
      }),
    );
    expect([...added.keys()]).toEqual(['env', 'volumeMounts', 'volumes']);
    expect(added.get('env').name).toBe('NODE_EXTRA_CA_CERTS');
    expect(added.get('env').value).toBe(`${added.get('volumeMounts').mountPath}/ca.pem`);
    expect(added.get('volumeMounts').name).toBe(added.get('volumes').name);
  });
});

describe('autoscalers', () => {
  const scaled = base.filter(({ kind }) => kind === 'HorizontalPodAutoscaler');

  it('own the count of what they scale', () => {
    expect(scaled.map(({ metadata }) => metadata.name).sort()).toEqual(['gateway', 'limiter', 'metering']);
    for (const { metadata } of scaled)
      expect(find('Deployment', metadata.name).spec).not.toHaveProperty('replicas');
    for (const name of ['runner', 'console']) expect(find('Deployment', name).spec.replicas).toBe(2);
  });

  it('use metrics that the services have, by the rules for the adapter', () => {
    const rules = read('infra/kubernetes/monitoring/adapter-rules.yaml');
    const metrics = scaled.flatMap(({ spec }) =>
      spec.metrics.flatMap(({ pods, external }: Json) => (pods ?? external)?.metric.name ?? []),
    );
    expect(metrics).toEqual(['tidegate_gateway_in_flight_share', 'tidegate_metering_oldest_job_seconds']);
    for (const name of metrics) expect(rules).toContain(name);
    expect(rules).toContain('tidegate_gateway_requests_in_flight_max{');
    expect(read('apps/gateway/src/observe/gauges.ts')).toContain("'requests_in_flight'");
    expect(read('apps/metering/src/metrics.ts')).toContain("'tidegate_metering_oldest_job_seconds'");
  });

  it('of the gateway also follows CPU, which needs no adapter: 60 % of one core', () => {
    const metrics = scaled.find(({ metadata }) => metadata.name === 'gateway').spec.metrics;
    expect(metrics.at(-1)).toEqual({
      type: 'Resource',
      resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 60 } },
    });
    expect(containerOf('gateway').resources.requests.cpu).toBe('1');
  });
});
