import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubernetesSettings } from '@tidegate/contracts/driver-settings';
import { createLogger } from '@tidegate/runtime';
import { eventually } from '@tidegate/testing';
import { FakeKubernetes } from '../../testing/kubernetes.ts';
import { FAST } from '../../testing/timings.ts';
import type { DriverReport } from '../driver.ts';
import { KubernetesApi } from './api.ts';
import { checkWorkload } from './check.ts';
import { Connection } from './connection.ts';
import { KubernetesDriver } from './kubernetes-driver.ts';
import { switchOn } from './scale.ts';

const DEPLOYMENT = 'gpu/deployments/qwen';
const POD = { name: 'qwen-1', app: 'qwen' };
const SETTINGS: KubernetesSettings = {
  namespace: 'gpu',
  kind: 'deployment',
  name: 'qwen',
  service: 'qwen-svc',
  replicas: 3,
  startTimeoutS: 600,
};

const FORBIDDEN = { match: 'get deployments/scale', status: 403, message: 'may not' };

let cluster: FakeKubernetes;
let api: KubernetesApi;
let lost: AbortController;
let holds: () => boolean;
let dir: string;
let model: Server;
let modelAnswers: { status: number; body: string };
/** The status at /health. Undefined: as everywhere else. */
let healthAnswers: number | undefined;
let drivers: KubernetesDriver[];

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'tidegate-kube-'));
  cluster = await new FakeKubernetes().listen();
  lost = new AbortController();
  holds = () => true;
  api = new KubernetesApi(new Connection(cluster.kubeconfig(dir)), {
    lost: lost.signal,
    holds: () => holds(),
  });
  drivers = [];
  modelAnswers = { status: 200, body: '{"data":[{"id":"qwen"}]}' };
  healthAnswers = undefined;
  model = createServer(({ url }, response) => {
    const status = (url === '/health' && healthAnswers) || modelAnswers.status;
    response.writeHead(status).end(modelAnswers.body);
  });
  // Each address of the loopback network is a pod.
  await new Promise<void>((resolve) => model.listen(0, '0.0.0.0', resolve));
  cluster.endpoints('qwen-svc', portOf(), {});
});
afterEach(async () => {
  for (const driver of drivers) driver.release();
  await cluster.close();
  model.closeAllConnections();
  await new Promise((resolve) => model.close(resolve));
  rmSync(dir, { recursive: true });
});

const portOf = (): number => (model.address() as AddressInfo).port;
const ready = (...addresses: string[]): void =>
  cluster.endpoints('qwen-svc', portOf(), Object.fromEntries(addresses.map((address) => [address, true])));

/** A driver, what it reports, and separately what it says that it is waiting for. */
function driverOf(
  settings: Partial<KubernetesSettings> = {},
  { alwaysOn = false, nowMs = Date.now, timings = FAST.drivers } = {},
) {
  const reports: DriverReport[] = [];
  const waits: string[] = [];
  const logged: { level: string; msg: string; reason?: string }[] = [];
  const write = (line: string) => logged.push(JSON.parse(line));
  const driver = new KubernetesDriver({
    api,
    settings: { ...SETTINGS, ...settings },
    alwaysOn,
    nowMs,
    random: Math.random,
    access: { name: 'qwen', nameAssumed: true, key: '' },
    timings,
    report: (report) => (report.type === 'waiting' ? waits.push(report.reason) : reports.push(report)),
    onProbeFailure: () => {},
    logger: createLogger({ service: 'runner', level: 'warn', destination: { write } }),
  });
  drivers.push(driver);
  const last = () => reports.at(-1);
  const urls = () => {
    const report = last();
    return report?.type === 'up' ? report.replicas.map(({ baseUrl }) => new URL(baseUrl).hostname) : null;
  };
  return { driver, reports, waits, last, urls, logged };
}

const pod = (status: object) => ({
  metadata: { name: POD.name, labels: { app: POD.app } },
  status: { phase: 'Pending', ...status },
});
const container = (state: object, more: object = {}) => ({
  name: 'vllm',
  image: 'vllm/vllm-openai:v1',
  imageID: '',
  ready: false,
  restartCount: 0,
  state,
  ...more,
});

const NO_ROOM = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'no room.' };

/** A pod that Kubernetes still lists. It was restarted several times before it was evicted. */
const EVICTED = {
  metadata: { name: 'qwen-0', labels: { app: POD.app } },
  status: {
    phase: 'Failed',
    reason: 'Evicted',
    containerStatuses: [container({ terminated: { exitCode: 137 } }, { restartCount: 3 })],
  },
};

describe('switching on', () => {
  it('scales from 0 to the count of the model, and calls the ready endpoints of its Service', async () => {
    cluster.workload(DEPLOYMENT);
    const { driver, urls, reports } = driverOf();
    driver.launch(false);
    await eventually(() => cluster.replicas(DEPLOYMENT) === 3);
    expect(reports).toEqual([]);
    ready('127.0.0.1');
    await eventually(() => urls()?.length === 1);
    cluster.endpoints('qwen-svc', portOf(), { '127.0.0.1': true, '127.0.0.2': true, '127.0.0.3': false });
    await eventually(() => urls()?.length === 2);
    expect(urls()).toEqual(['127.0.0.1', '127.0.0.2']);
  });

  it('scales a StatefulSet through the same subresource', async () => {
    cluster.workload('gpu/statefulsets/qwen');
    driverOf({ kind: 'statefulset', replicas: 1 }).driver.launch(false);
    await eventually(() => cluster.replicas('gpu/statefulsets/qwen') === 1);
  });

  it('never changes a count above 0', async () => {
    cluster.workload(DEPLOYMENT, 7);
    ready('127.0.0.1');
    const { driver, urls } = driverOf();
    driver.launch(false);
    await eventually(() => urls()?.length === 1);
    expect(cluster.replicas(DEPLOYMENT)).toBe(7);
    expect(cluster.asked.some(({ verb }) => verb === 'update')).toBe(false);
  });

  it('scales to 1 beside an autoscaler, which decides from then on', async () => {
    cluster.workload(DEPLOYMENT);
    const target = { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'qwen' } };
    cluster.set('horizontalpodautoscalers', [{ metadata: { name: 'x' }, spec: target }]);
    driverOf().driver.launch(false);
    await eventually(() => cluster.replicas(DEPLOYMENT) === 1);
  });

  it('reads the count again when somebody else has changed the workload', async () => {
    cluster.workload(DEPLOYMENT);
    cluster.meanwhile = () => cluster.workload(DEPLOYMENT, 2);
    ready('127.0.0.1');
    const { driver, urls } = driverOf();
    driver.launch(false);
    await eventually(() => urls()?.length === 1);
    expect(cluster.replicas(DEPLOYMENT)).toBe(2);
  });

  it('stops trying once it is ended, so that it never undoes a later switching off', async () => {
    cluster.workload(DEPLOYMENT);
    const ending = new AbortController();
    cluster.meanwhile = () => {
      cluster.workload(DEPLOYMENT);
      ending.abort();
    };
    await expect(switchOn(api, SETTINGS, 3, ending.signal)).rejects.toThrow('has been modified');
    expect(cluster.replicas(DEPLOYMENT)).toBe(0);
  });

  it('is not done by a runner that no longer leads, nor is switching off', async () => {
    cluster.workload(DEPLOYMENT);
    // The lead is lost while the count is read.
    holds = () => cluster.asked.length < 1;
    await expect(switchOn(api, SETTINGS, 3, new AbortController().signal)).rejects.toThrow('another runner');
    expect(cluster.replicas(DEPLOYMENT)).toBe(0);
    cluster.workload(DEPLOYMENT, 2);
    await expect(driverOf().driver.halt()).rejects.toThrow('another runner');
    expect(cluster.asked.filter(({ verb }) => verb === 'update')).toEqual([]);
  });

  it('is not done when it is cancelled while the count is read', async () => {
    cluster.workload(DEPLOYMENT);
    const ending = new AbortController();
    const scale = api.scale.bind(api);
    api.scale = (...asked) => scale(...asked).finally(() => ending.abort());
    await expect(switchOn(api, SETTINGS, 3, ending.signal)).rejects.toThrow('cancelled');
    expect(cluster.replicas(DEPLOYMENT)).toBe(0);
  });

  it('continues when the API server fails for a while', async () => {
    cluster.workload(DEPLOYMENT);
    for (const match of ['get deployments/scale', 'update deployments/scale', 'list endpointslices'])
      cluster.failures.push({ match, status: 503, message: 'etcd is away' });
    ready('127.0.0.1');
    const { driver, urls } = driverOf();
    driver.launch(false);
    await eventually(() => urls()?.length === 1);
  });

  it('says that Kubernetes cannot be asked, and when that is over', async () => {
    cluster.workload(DEPLOYMENT);
    const away = { match: 'get deployments/scale', status: 503, message: 'etcd is away' };
    cluster.failures.push(away, away);
    const { driver, waits } = driverOf();
    driver.launch(false);
    await eventually(() => cluster.replicas(DEPLOYMENT) === 3);
    await eventually(() => waits.length >= 2);
    // Later it says what keeps its pods from starting.
    expect(waits.slice(0, 2)).toEqual(['Kubernetes answered 503: etcd is away.', '']);
  });

  it('reads its credentials again when they have expired', async () => {
    cluster.workload(DEPLOYMENT);
    await api.scale(SETTINGS, new AbortController().signal);
    cluster.token = 'second-token';
    cluster.kubeconfig(dir);
    ready('127.0.0.1');
    const { driver, urls } = driverOf();
    driver.launch(false);
    await eventually(() => urls()?.length === 1);
  });

  it('fails immediately when there is no such workload', async () => {
    const { driver, last } = driverOf();
    driver.launch(false);
    await eventually(() => last() !== undefined);
    expect(last()).toEqual({ type: 'down', reason: 'There is no Deployment gpu/qwen.', watching: false });
    expect(cluster.asked).toHaveLength(1);
  });

  it('fails when it lacks a right for too long', async () => {
    cluster.workload(DEPLOYMENT);
    cluster.failures.push(...Array(100).fill(FORBIDDEN));
    const { driver, last } = driverOf();
    driver.launch(false);
    await eventually(() => last() !== undefined);
    const reason = 'The runner lacks a permission in Kubernetes (403): may not.';
    expect(last()).toEqual({ type: 'down', reason, watching: false });
  });

  it.each([403, 404])(
    'keeps being tried after a %i if the model is always on, and then starts over',
    async (status) => {
      cluster.workload(DEPLOYMENT);
      cluster.failures.push(...Array(100).fill({ ...FORBIDDEN, status }));
      const { driver, last, reports } = driverOf({}, { alwaysOn: true });
      driver.launch(false);
      await eventually(() => last() !== undefined);
      expect(last()).toMatchObject({ type: 'down', watching: true });
      cluster.failures.length = 0;
      await eventually(() => last()?.type === 'restarting');
      expect(cluster.replicas(DEPLOYMENT)).toBe(3);
      expect(reports).toHaveLength(2);
    },
  );

  it('continues when an API server refuses every right, as one that has just started does', async () => {
    cluster.workload(DEPLOYMENT);
    cluster.failures.push(FORBIDDEN);
    const { driver, reports } = driverOf({}, { nowMs: () => 0 });
    driver.launch(false);
    await eventually(() => cluster.replicas(DEPLOYMENT) === 3);
    expect(reports).toEqual([]);
  });
});

describe('the watch of the endpoints', () => {
  /** A driver whose model is up at one endpoint. */
  async function running() {
    cluster.workload(DEPLOYMENT, 1);
    ready('127.0.0.1');
    const started = driverOf();
    started.driver.launch(false);
    await eventually(() => started.urls()?.length === 1 && cluster.watching === 1);
    return started;
  }
  const watches = () => cluster.asked.filter(({ verb }) => verb === 'watch');
  const lists = () =>
    cluster.asked.filter(({ verb, resource }) => verb === 'list' && resource === 'endpointslices');

  it('continues where it was when the server ends it, from the last bookmark', async () => {
    const { urls } = await running();
    cluster.bookmark();
    cluster.endWatches('end');
    await eventually(() => watches().length === 2);
    const [before, after] = watches().map(({ query }) => Number(query.get('resourceVersion')));
    expect(after).toBeGreaterThan(before ?? Number.NaN);
    ready('127.0.0.1', '127.0.0.2');
    await eventually(() => urls()?.length === 2);
    expect(lists()).toHaveLength(1);
    expect(watches()[0]?.query.get('allowWatchBookmarks')).toBe('true');
  });

  it('misses nothing when its connection breaks', async () => {
    const { urls } = await running();
    cluster.endWatches('break');
    ready('127.0.0.1', '127.0.0.2');
    await eventually(() => urls()?.length === 2);
  });

  it('lists again when its version is gone', async () => {
    const { urls } = await running();
    cluster.compact();
    cluster.endWatches('end');
    await eventually(() => lists().length === 2);
    ready('127.0.0.1', '127.0.0.2');
    await eventually(() => urls()?.length === 2);
  });

  it('starts over when the server sends what is not an event', async () => {
    const { urls } = await running();
    cluster.sendRaw('{"type":\n');
    await eventually(() => lists().length === 2);
    ready('127.0.0.2');
    await eventually(() => urls()?.[0] === '127.0.0.2');
  });

  it('keeps the last endpoints while the API server is away', async () => {
    const { reports, urls } = await running();
    const seen = reports.length;
    cluster.failures.push(
      ...Array.from({ length: 3 }, () => ({ match: 'list endpointslices', status: 500, message: 'away' })),
    );
    cluster.endWatches('break');
    await eventually(() => cluster.failures.length === 0 && cluster.watching === 1);
    expect(reports).toHaveLength(seen);
    expect(urls()).toEqual(['127.0.0.1']);
  });
});

describe('a model that runs', () => {
  async function running(alwaysOn = false) {
    cluster.workload(DEPLOYMENT, 1);
    ready('127.0.0.1');
    const started = driverOf({}, { alwaysOn });
    started.driver.launch(false);
    await eventually(() => started.urls()?.length === 1);
    return started;
  }

  it('restarts when its last pod is gone and Kubernetes creates another', async () => {
    const { last } = await running();
    ready();
    await eventually(() => last()?.type !== 'up');
    expect(last()).toEqual({ type: 'restarting' });
  });

  it('is down when somebody else has scaled it to 0', async () => {
    const { last } = await running();
    cluster.workload(DEPLOYMENT, 0);
    cluster.removeSlices('qwen-svc');
    await eventually(() => last()?.type !== 'up');
    expect(last()).toEqual({ type: 'down', reason: 'Someone else scaled it to 0.', watching: false });
  });

  it('is down while a ready pod does not answer, keeps its pods, and comes back', async () => {
    const { last, urls } = await running();
    modelAnswers = { status: 500, body: '' };
    await eventually(() => last()?.type === 'down');
    expect(last()).toMatchObject({ reason: 'Its server does not answer (HTTP 500).', watching: true });
    expect(cluster.replicas(DEPLOYMENT)).toBe(1);
    modelAnswers = { status: 200, body: '{"data":[{"id":"qwen"}]}' };
    await eventually(() => urls()?.length === 1);
  });
});

describe('a pod that is ready before its server is', () => {
  it('is called as soon as the server answers, however long it took to load', async () => {
    let probes = 0;
    model.prependListener('request', () => {
      probes++;
      if (probes === 14) modelAnswers = { status: 200, body: '{"data":[{"id":"qwen"}]}' };
    });
    modelAnswers = { status: 503, body: '' };
    cluster.workload(DEPLOYMENT, 1);
    ready('127.0.0.1');
    // If pauses doubled, the 14th probe would come minutes later.
    const timings = { ...FAST.drivers, maxRetryProbeMs: 1_000_000 };
    const { driver, urls } = driverOf({}, { timings });
    driver.launch(false);
    await eventually(() => urls()?.length === 1);
  });
});

describe('a model whose pods answer, but cannot be called', () => {
  const refusesKey = 'The server asks for an upstream key (401), and the model has none.';
  const LATE = { startTimeoutS: 1 };

  it('has failed when nothing is at the paths of the API, unless its health path answers', async () => {
    modelAnswers = { status: 404, body: '' };
    cluster.workload(DEPLOYMENT, 1);
    ready('127.0.0.1');
    const { driver, last } = driverOf();
    driver.launch(false);
    await eventually(() => last()?.type === 'down');
    const reason = expect.stringMatching(/^No chat completions API at .*: \/models answered 404\.$/);
    expect(last()).toEqual({ type: 'down', reason, watching: true });
    healthAnswers = 200;
    const { driver: other, urls } = driverOf({ healthPath: '/health' });
    other.launch(false);
    await eventually(() => urls()?.length === 1);
  });

  it('gives back its room when the start takes too long, if it wakes on request', async () => {
    modelAnswers = { status: 401, body: '' };
    cluster.workload(DEPLOYMENT, 1);
    ready('127.0.0.1');
    let nowMs = 0;
    const { driver, last } = driverOf(LATE, { nowMs: () => nowMs });
    driver.launch(false);
    await eventually(() => last()?.type === 'down');
    expect(last()).toEqual({ type: 'down', reason: refusesKey, watching: true });
    nowMs = 1_000;
    await eventually(() => (last() as { watching?: boolean }).watching === false);
    expect(last()).toMatchObject({ reason: `The model was not ready within 1 s. ${refusesKey}` });
  });

  it('has as much time to come back as a start may take, if it was up', async () => {
    cluster.workload(DEPLOYMENT, 1);
    ready('127.0.0.1');
    let nowMs = 0;
    const { driver, reports, last, urls } = driverOf(LATE, { nowMs: () => nowMs });
    driver.launch(false);
    await eventually(() => urls()?.length === 1);
    nowMs = 10_000;
    modelAnswers = { status: 401, body: '' };
    await eventually(() => last()?.type === 'down');
    const asked = cluster.asked.length;
    nowMs = 10_999;
    modelAnswers = { status: 200, body: '{"data":[{"id":"qwen"}]}' };
    await eventually(() => urls()?.length === 1 && cluster.asked.length > asked);
    modelAnswers = { status: 401, body: '' };
    await eventually(() => last()?.type === 'down');
    nowMs = 12_000;
    await eventually(() => (last() as { watching?: boolean }).watching === false);
    const ends = reports.filter((report) => report.type === 'down' && !report.watching);
    expect(ends).toHaveLength(1);
  });

  it('has the same time even if its replicas were gone for a moment', async () => {
    let probes = 0;
    model.prependListener('request', () => probes++);
    cluster.workload(DEPLOYMENT, 1);
    ready('127.0.0.1');
    let nowMs = 0;
    const { driver, last, urls } = driverOf(LATE, { nowMs: () => nowMs });
    driver.launch(false);
    await eventually(() => urls()?.length === 1 && cluster.watching === 1);
    nowMs = 10_000;
    const answer = cluster.fallSilent();
    ready();
    modelAnswers = { status: 503, body: '' };
    ready('127.0.0.2');
    const probed = (count: number) => eventually(() => probes > count || last()?.type !== 'up');
    await probed(3);
    answer();
    await probed(probes + 10);
    expect(last()?.type).toBe('up');
    nowMs = 11_000;
    await eventually(() => last()?.type === 'down');
    expect(last()).toMatchObject({ watching: false });
  });

  it('stays on if it is always on', async () => {
    modelAnswers = { status: 401, body: '' };
    cluster.workload(DEPLOYMENT, 1);
    ready('127.0.0.1');
    let nowMs = 0;
    const { driver, last, urls } = driverOf(LATE, { alwaysOn: true, nowMs: () => nowMs });
    driver.launch(false);
    await eventually(() => last()?.type === 'down');
    nowMs = 5_000;
    modelAnswers = { status: 200, body: '{"data":[{"id":"qwen"}]}' };
    await eventually(() => urls()?.length === 1);
  });
});

describe('a start that does not succeed', () => {
  const LATE = { startTimeoutS: 1 };
  const cases: [string, object, string][] = [
    [
      'a crash loop',
      {
        containerStatuses: [
          container(
            { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 5m0s restarting' } },
            {
              restartCount: 4,
              lastState: {
                terminated: { exitCode: 137, reason: 'OOMKilled', message: 'prompt: words of a user' },
              },
            },
          ),
        ],
      },
      'The container vllm keeps crashing (CrashLoopBackOff): it last ended with exit code 137 (OOMKilled).',
    ],
    [
      'an image that is not there',
      { containerStatuses: [container({ waiting: { reason: 'ImagePullBackOff' } })] },
      'The image vllm/vllm-openai:v1 of container vllm cannot be pulled (ImagePullBackOff).',
    ],
    [
      'a secret that is missing',
      {
        containerStatuses: [
          container({ waiting: { reason: 'CreateContainerConfigError', message: 'secret "hf" not found' } }),
        ],
      },
      'The container vllm cannot be created (CreateContainerConfigError): secret "hf" not found.',
    ],
  ];
  it.each(cases)('fails soon because of %s', async (_name, status, reason) => {
    cluster.workload(DEPLOYMENT);
    cluster.set('pods', [pod(status)]);
    const { driver, last, waits } = driverOf();
    driver.launch(false);
    await eventually(() => last()?.type === 'down');
    expect(last()).toEqual({ type: 'down', reason, watching: false });
    // Before that, it was reported as what the start waits for.
    expect(waits).toEqual([reason]);
  });

  const late: [string, object[], object[], string][] = [
    [
      'no node has room for its pod',
      [
        pod({
          conditions: [
            {
              type: 'PodScheduled',
              status: 'False',
              reason: 'Unschedulable',
              message: '0/3 nodes are available: 3 Insufficient nvidia.com/gpu.',
            },
          ],
        }),
      ],
      [],
      'Pod qwen-1 cannot be scheduled (Unschedulable): 0/3 nodes are available: 3 Insufficient nvidia.com/gpu.',
    ],
    [
      'a volume cannot be mounted, as an event says',
      [pod({ containerStatuses: [container({ waiting: { reason: 'ContainerCreating' } })] })],
      [
        { type: 'Warning', reason: 'Unhealthy', message: 'probe said: words of a user' },
        { type: 'Warning', reason: 'FailedMount', message: 'volume "weights" is not there.' },
      ].map((event) => ({ ...event, metadata: {}, involvedObject: { name: POD.name } })),
      'FailedMount: volume "weights" is not there.',
    ],
    [
      'a quota allows no pod, as an event says',
      [],
      [
        {
          type: 'Warning',
          reason: 'FailedCreate',
          message: '(combined from similar events): exceeded quota: gpus',
          metadata: {},
          involvedObject: { name: 'qwen-7f9c' },
        },
      ],
      'FailedCreate: exceeded quota: gpus.',
    ],
    [
      'it has no pod, and only another workload with a longer name has an event',
      [],
      [
        {
          type: 'Warning',
          reason: 'FailedCreate',
          message: 'exceeded quota: gpus',
          metadata: {},
          involvedObject: { name: 'qwen-large-7f9c' },
        },
      ],
      'It has no pod yet.',
    ],
    ['it has no pod, and no event says why', [], [], 'It has no pod yet.'],
    ['its pod has failed, and there is no other', [EVICTED], [], 'Pod qwen-0 failed (Evicted).'],
    [
      'its pod cannot be scheduled, and is listed after a hundred that were evicted',
      [...Array(100).fill(EVICTED), pod({ conditions: [NO_ROOM] })],
      [],
      'Pod qwen-1 cannot be scheduled (Unschedulable): no room.',
    ],
    [
      'a quota allows no pod, though one that was evicted is still there',
      [EVICTED],
      [
        {
          type: 'Warning',
          reason: 'FailedCreate',
          message: 'exceeded quota: gpus',
          metadata: {},
          involvedObject: { name: 'qwen-7f9c' },
        },
      ],
      'FailedCreate: exceeded quota: gpus.',
    ],
  ];
  it.each(late)('fails in the end because %s', async (_name, pods, events, reason) => {
    cluster.workload(DEPLOYMENT);
    cluster.set('pods', pods);
    cluster.set('events', events);
    let nowMs = 0;
    const { driver, last, waits } = driverOf(LATE, { nowMs: () => nowMs });
    driver.launch(false);
    await eventually(() => cluster.asked.some(({ resource }) => resource === 'pods'));
    nowMs = FAST.drivers.podProblemMs;
    await eventually(() => waits.at(-1) === reason);
    expect(last()).toBeUndefined();
    nowMs = 1_000;
    await eventually(() => last()?.type === 'down');
    const whole = `The model was not ready within 1 s. ${reason}`;
    expect(last()).toEqual({ type: 'down', reason: whole, watching: false });
  });

  it('is logged when something that may pass has kept its pods from starting for a while, and when that changes', async () => {
    const message = '0/3 nodes are available: 3 Insufficient nvidia.com/gpu.';
    const unscheduled = (why: string) =>
      pod({
        conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: why }],
      });
    const looks = () => cluster.asked.filter(({ resource }) => resource === 'pods').length;
    const lookedAgain = async () => {
      const before = looks();
      await eventually(() => looks() > before + 2);
    };
    cluster.workload(DEPLOYMENT);
    cluster.set('pods', [unscheduled(message)]);
    let nowMs = 0;
    const { driver, logged, last, waits } = driverOf({}, { nowMs: () => nowMs });
    driver.launch(false);
    await lookedAgain();
    expect(logged).toEqual([]);
    nowMs = FAST.drivers.podProblemMs;
    await lookedAgain();
    const line = (why: string) => ({
      level: 'warn',
      msg: 'a workload cannot start yet',
      reason: `Pod qwen-1 cannot be scheduled (Unschedulable): ${why}`,
    });
    expect(logged).toEqual([expect.objectContaining(line(message))]);
    cluster.set('pods', [unscheduled('0/3 nodes are available: 3 had taints.')]);
    await lookedAgain();
    // A model may take long to load.
    cluster.set('pods', [pod({ containerStatuses: [container({ running: {} })] })]);
    await lookedAgain();
    expect(waits.at(-1)).toBe('');
    nowMs *= 3;
    await lookedAgain();
    expect(logged.slice(1)).toEqual([
      expect.objectContaining(line('0/3 nodes are available: 3 had taints.')),
    ]);
    expect(last()).toBeUndefined();
  });

  it('is not affected by a pod that was evicted before and is still listed', async () => {
    cluster.workload(DEPLOYMENT);
    cluster.set('pods', [EVICTED, pod({ containerStatuses: [container({ running: {} })] })]);
    let nowMs = 0;
    const { driver, last, waits } = driverOf({}, { nowMs: () => nowMs });
    driver.launch(false);
    const looks = () => cluster.asked.filter(({ resource }) => resource === 'pods').length;
    await eventually(() => looks() > 2);
    nowMs = FAST.drivers.podProblemMs;
    const before = looks();
    await eventually(() => looks() > before + 2);
    expect([last(), waits]).toEqual([undefined, []]);
  });

  it('keeps looking for its pods if the model is always on, and never scales the workload down', async () => {
    cluster.workload(DEPLOYMENT);
    cluster.set('pods', [pod(cases[1]?.[1] ?? {})]);
    const { driver, last, urls } = driverOf({}, { alwaysOn: true });
    driver.launch(false);
    await eventually(() => last()?.type === 'down');
    expect(last()).toMatchObject({ watching: true });
    expect(cluster.replicas(DEPLOYMENT)).toBe(3);
    ready('127.0.0.1');
    await eventually(() => urls()?.length === 1);
  });

  it('says so when the Service is not there, or has several ports', async () => {
    cluster.workload(DEPLOYMENT);
    const { driver, last } = driverOf({ service: 'other' });
    driver.launch(false);
    await eventually(() => last()?.type === 'down');
    expect(last()).toMatchObject({ reason: 'There is no Service other with endpoints.' });
  });
});

describe('switching off', () => {
  /** A pod that was told to end. No count of its workload includes it any more. */
  const ending = (phase: string, deletionGracePeriodSeconds = 30) => ({
    metadata: { name: POD.name, deletionTimestamp: '2026-11-21T12:00:00Z', deletionGracePeriodSeconds },
    status: { phase },
  });
  const looks = () => cluster.asked.filter(({ resource }) => resource === 'pods').length;
  const lookedAgain = async () => {
    const before = looks();
    await eventually(() => looks() > before + 1);
  };

  it('ends with the lead, and leaves the pods to the next runner', async () => {
    cluster.workload(DEPLOYMENT, 1);
    cluster.set('pods', [ending('Running')]);
    cluster.onScale = () => lost.abort();
    await expect(driverOf({}, { nowMs: () => 0 }).driver.halt()).rejects.toThrow('ABORT_ERR');
    expect(cluster.asked.filter(({ verb }) => verb === 'update')).toHaveLength(1);
  });

  it('scales to 0, and is done when the last of its pods has ended, whatever the count says', async () => {
    cluster.workload(DEPLOYMENT, 4);
    cluster.set('pods', [ending('Running'), { ...ending('Running'), status: { phase: 'Pending' } }]);
    let done = false;
    const halted = driverOf({}, { nowMs: () => 0 })
      .driver.halt()
      .then(() => {
        done = true;
      });
    await eventually(() => cluster.replicas(DEPLOYMENT) === 0);
    cluster.follow(DEPLOYMENT);
    await lookedAgain();
    cluster.set('pods', [ending('Failed'), ending('Running')]);
    await lookedAgain();
    expect(done).toBe(false);
    cluster.set('pods', [ending('Failed'), ending('Succeeded')]);
    await halted;
  });

  it('waits for a pod that is listed after a hundred that were evicted', async () => {
    cluster.workload(DEPLOYMENT);
    cluster.set('pods', [...Array(100).fill(EVICTED), ending('Running')]);
    const { driver } = driverOf();
    expect(await driver.leftBehind(60_000)).toBe('remains');
    const done = driver.halt().then(() => 'done');
    await lookedAgain();
    expect(await Promise.race([done, 'waiting'])).toBe('waiting');
    cluster.set('pods', Array(100).fill(EVICTED));
    await done;
  });

  it('waits for pods as long as they may take to end, and gives them up in the end, with a warning', async () => {
    cluster.workload(DEPLOYMENT, 1);
    cluster.set('pods', [ending('Running', 30)]);
    let nowMs = 0;
    let done = false;
    const { driver, logged } = driverOf({}, { nowMs: () => nowMs });
    const halted = driver.halt().then(() => {
      done = true;
    });
    await lookedAgain();
    nowMs = 30_000;
    await lookedAgain();
    expect([done, logged]).toEqual([false, []]);
    nowMs += FAST.drivers.scaleDownMs;
    await halted;
    expect(logged).toMatchObject([
      { msg: 'pods are still there after their grace period: giving up on them' },
    ]);
  });

  it('waits as long for each of several pods that end one after another', async () => {
    cluster.workload(DEPLOYMENT, 3);
    let nowMs = 0;
    const { driver, logged } = driverOf({}, { nowMs: () => nowMs });
    cluster.set('pods', [ending('Running'), pod({ phase: 'Running' }), pod({ phase: 'Running' })]);
    const halted = driver.halt();
    await lookedAgain();
    for (const pods of [[ending('Running'), pod({ phase: 'Running' })], [ending('Running')]]) {
      nowMs += 30_000;
      cluster.set('pods', pods);
      await lookedAgain();
    }
    nowMs += 30_000;
    await lookedAgain();
    cluster.set('pods', []);
    await halted;
    expect(logged).toEqual([]);
  });

  it('fails when its pods are never told to end', async () => {
    cluster.workload(DEPLOYMENT, 4);
    cluster.set('pods', [pod({ phase: 'Running' })]);
    let nowMs = 0;
    const halted = driverOf({}, { nowMs: () => (nowMs += 1_000) }).driver.halt();
    await expect(halted).rejects.toThrow('have not been told to end');
  });

  it('gives up if somebody switches the workload on while its pods are ending', async () => {
    cluster.workload(DEPLOYMENT, 1);
    cluster.set('pods', [ending('Running')]);
    const halted = expect(driverOf({}, { nowMs: () => 0 }).driver.halt()).rejects.toThrow('scaled it up');
    await lookedAgain();
    cluster.workload(DEPLOYMENT, 2);
    await halted;
    expect(cluster.replicas(DEPLOYMENT)).toBe(2);
  });

  it('comes only after a switching on that is under way', async () => {
    cluster.workload(DEPLOYMENT);
    const { driver } = driverOf();
    const halted = new Promise((resolve) => {
      cluster.meanwhile = () => resolve(driver.halt());
    });
    driver.launch(false);
    await halted;
    const counts = cluster.asked.flatMap(({ verb, body }) => (verb === 'update' ? body.spec.replicas : []));
    expect(counts).toEqual([3, 0]);
  });

  it('can wait for a start that is under way, because a release resolves once it has taken effect', async () => {
    cluster.workload(DEPLOYMENT);
    const connection = new Connection(cluster.kubeconfig(dir));
    let carryOut = () => {};
    const carriedOut = new Promise<void>((resolve) => {
      carryOut = resolve;
    });
    let sent = false;
    const send: Connection['send'] = async (call, signal) => {
      sent ||= call.method === 'PUT';
      if (call.method === 'PUT') await carriedOut;
      return connection.send(call, signal);
    };
    api = new KubernetesApi({ send }, { lost: lost.signal, holds: () => true });
    const { driver } = driverOf();
    driver.launch(false);
    await eventually(() => sent);
    const released = driver.release().then(() => cluster.replicas(DEPLOYMENT));
    carryOut();
    expect(await released).toBe(3);
  });

  it('waits for the pods of a workload that is deleted meanwhile, and of one that was deleted before', async () => {
    cluster.workload(DEPLOYMENT, 1);
    cluster.set('pods', [ending('Running')]);
    const { driver, logged } = driverOf({}, { nowMs: () => 0 });
    for (const _when of ['meanwhile', 'before']) {
      let done = false;
      const halted = driver.halt().then(() => {
        done = true;
      });
      await lookedAgain();
      cluster.deleteWorkload(DEPLOYMENT);
      await lookedAgain();
      expect(done).toBe(false);
      cluster.set('pods', []);
      await halted;
      cluster.set('pods', [ending('Running')]);
    }
    expect(logged).toEqual([]);
  });

  it('gives up pods of a deleted workload that are never told to end, with a warning', async () => {
    cluster.workload(DEPLOYMENT, 1);
    cluster.set('pods', [pod({ phase: 'Running' })]);
    let nowMs = 0;
    const { driver, logged } = driverOf({}, { nowMs: () => nowMs });
    const halted = driver.halt();
    await lookedAgain();
    cluster.deleteWorkload(DEPLOYMENT);
    await lookedAgain();
    expect(logged).toEqual([]);
    nowMs = FAST.drivers.scaleDownMs;
    await halted;
    expect(logged).toMatchObject([{ msg: expect.stringContaining('giving up') }]);
  });

  it('is done when the workload is not there', async () => {
    await driverOf().driver.halt();
    expect(cluster.asked).toHaveLength(1);
  });
});

describe('the count of replicas', () => {
  /** `1 of 3` when one of three can be called. */
  const upOf = (report: DriverReport | undefined) =>
    report?.type === 'up' && `${report.replicas.length} of ${report.total}`;

  it('includes those that are not ready, cannot be scheduled, or do not answer', async () => {
    cluster.workload(DEPLOYMENT);
    const { driver, last } = driverOf();
    driver.launch(false);
    ready('127.0.0.1');
    await eventually(() => upOf(last()) === '1 of 3');
    ready('127.0.0.1', '127.0.0.2', '127.0.0.3');
    await eventually(() => upOf(last()) === '3 of 3');
  });

  it('follows an autoscaler, and a rollout that has more pods for a while', async () => {
    cluster.workload(DEPLOYMENT, 1);
    ready('127.0.0.1');
    const { driver, last } = driverOf({}, { alwaysOn: true });
    await driver.leftBehind(60_000);
    driver.launch(true);
    expect(upOf(last())).toBe('1 of 1');
    cluster.workload(DEPLOYMENT, 4);
    await eventually(() => upOf(last()) === '1 of 4');
    cluster.workload(DEPLOYMENT, 1);
    await eventually(() => upOf(last()) === '1 of 1');
    ready('127.0.0.1', '127.0.0.2');
    await eventually(() => upOf(last()) === '2 of 2');
    ready('127.0.0.2');
    await eventually(() => upOf(last()) === '1 of 1');
  });
});

describe('what is left behind', () => {
  it.each([
    ['nothing', 0, [], 'nothing'],
    ['a workload with replicas', 2, ['127.0.0.1'], 'process'],
    ['a workload that is coming up', 2, [], 'pending'],
  ] as const)('may be %s', async (_name, count, addresses, expected) => {
    cluster.workload(DEPLOYMENT, count);
    ready(...addresses);
    expect(await driverOf().driver.leftBehind(60_000)).toBe(expected);
  });

  it('may be pods of a workload that is off', async () => {
    cluster.workload(DEPLOYMENT);
    cluster.set('pods', [pod({ phase: 'Running' })]);
    expect(await driverOf().driver.leftBehind(60_000)).toBe('remains');
    cluster.set('pods', [pod({ phase: 'Failed' })]);
    expect(await driverOf().driver.leftBehind(60_000)).toBe('nothing');
  });

  it('is unknown while Kubernetes does not say', async () => {
    cluster.failures.push({ match: 'get deployments/scale', status: 500, message: 'away' });
    expect(await driverOf().driver.leftBehind(60_000)).toBe('unknown');
  });

  it('is unknown when Kubernetes does not answer in time', async () => {
    // The call does not end even when it is aborted, as when a program fetches the credentials.
    const connection = { send: () => new Promise<never>(() => {}) };
    api = new KubernetesApi(connection, { lost: lost.signal, holds: () => true });
    expect(await driverOf().driver.leftBehind(20)).toBe('unknown');
  });

  it('is found without being changed, when Kubernetes answers again', async () => {
    cluster.workload(DEPLOYMENT, 1);
    ready('127.0.0.1');
    const answer = cluster.fallSilent();
    const { driver, urls } = driverOf();
    driver.find();
    await eventually(() => cluster.asked.length > 0);
    answer();
    await eventually(() => urls()?.[0] === '127.0.0.1');
    expect(cluster.asked.every(({ verb }) => verb !== 'update')).toBe(true);
  });

  it('may turn out to be off: that is reported, and it is not switched on', async () => {
    cluster.workload(DEPLOYMENT);
    cluster.failures.push({ match: 'get deployments/scale', status: 500, message: 'away' });
    cluster.set('pods', [pod({ phase: 'Running' })]);
    const { driver, last, waits } = driverOf({}, { alwaysOn: true });
    driver.find();
    await eventually(() => waits.at(-1) === 'Waiting for its old pods to end.');
    await eventually(() => cluster.asked.filter(({ resource }) => resource === 'pods').length > 1);
    expect(last()).toBeUndefined();
    cluster.set('pods', []);
    await eventually(() => last()?.type === 'off');
    expect(cluster.replicas(DEPLOYMENT)).toBe(0);
  });

  it('is still looked for while a right is missing, for as long as a start may take', async () => {
    cluster.workload(DEPLOYMENT, 1);
    cluster.failures.push(...Array(1_000).fill(FORBIDDEN));
    let nowMs = 0;
    const { driver, last } = driverOf({}, { nowMs: () => nowMs });
    driver.find();
    await eventually(() => cluster.asked.length > 0);
    nowMs = 599_999;
    const asked = cluster.asked.length;
    await eventually(() => cluster.asked.length > asked + 1);
    expect(last()).toBeUndefined();
    nowMs = 600_000;
    await eventually(() => last() !== undefined);
    expect(last()).toMatchObject({ type: 'down', watching: false });
  });

  it.each([
    [403, true],
    [404, true],
    [403, false],
    [404, false],
  ])(
    'is called even while Kubernetes answers %i when asked for its count (always on: %j)',
    async (status, alwaysOn) => {
      cluster.workload(DEPLOYMENT, 1);
      ready('127.0.0.1');
      let nowMs = 0;
      const { driver, reports } = driverOf({}, { alwaysOn, nowMs: () => nowMs });
      await driver.leftBehind(60_000);
      cluster.failures.push(...Array(1_000).fill({ ...FORBIDDEN, status }));
      driver.launch(true);
      const asked = cluster.asked.length;
      await eventually(() => cluster.asked.length > asked);
      nowMs = 600_000;
      await eventually(() => cluster.asked.length > asked + 2);
      cluster.failures.length = 0;
      await eventually(() => cluster.watching === 1);
      expect(new Set(reports.map(({ type }) => type))).toEqual(new Set(['up']));
      expect(cluster.replicas(DEPLOYMENT)).toBe(1);
    },
  );

  it('is up before the launch returns', async () => {
    cluster.workload(DEPLOYMENT, 1);
    ready('127.0.0.1');
    const { driver, urls } = driverOf();
    await driver.leftBehind(60_000);
    driver.launch(true);
    expect(urls()).toEqual(['127.0.0.1']);
  });
});

describe('a check before publishing', () => {
  const check = (settings: Partial<KubernetesSettings> = {}) =>
    checkWorkload({ api, namespaces: new Set(['gpu']) }, { ...SETTINGS, ...settings });

  it('finds a workload and its Service', async () => {
    cluster.workload(DEPLOYMENT);
    expect(await check()).toEqual({ problem: '', impossible: false });
  });

  it.each([
    [{ namespace: 'kube-system' }, 'The namespace kube-system is not among those of this runner', true],
    [{ name: 'other' }, 'There is no Deployment gpu/other.', true],
    [
      { service: 'other' },
      'Deployment gpu/qwen exists, but there is no Service gpu/other with endpoints',
      false,
    ],
  ])('says what is wrong with %j, and whether that may pass', async (settings, problem, impossible) => {
    cluster.workload(DEPLOYMENT);
    expect(await check(settings)).toEqual({ problem: expect.stringContaining(problem), impossible });
    if ('namespace' in settings) expect(cluster.asked).toEqual([]);
  });

  it('says that a right is missing, which may be granted later', async () => {
    cluster.failures.push({ match: 'get deployments/scale', status: 403, message: 'no' });
    expect(await check()).toMatchObject({ problem: expect.stringContaining('(403)'), impossible: false });
  });

  it('says that the runner has no Kubernetes', async () => {
    const problem = expect.stringContaining('RUNNER_KUBERNETES is not set');
    expect(await checkWorkload(null, SETTINGS)).toEqual({ problem, impossible: true });
  });
});
