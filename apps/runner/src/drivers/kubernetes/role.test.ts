import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { eventually } from '@tidegate/testing';
import { parse } from 'yaml';
import { FakeKubernetes } from '../../testing/kubernetes.ts';
import { API_TIMINGS, KubernetesApi } from './api.ts';
import { Connection } from './connection.ts';

const ROLE = '../../../../../infra/kubernetes/model-namespace/role.yaml';

interface Rule {
  readonly apiGroups: string[];
  readonly resources: string[];
  readonly verbs: string[];
}

it("the Kubernetes API calls need exactly the rights of the runner's Role", async () => {
  const dir = mkdtempSync(join(tmpdir(), 'tidegate-kube-'));
  const cluster = await new FakeKubernetes().listen();
  // The first call loads the client, which takes long on a busy machine.
  const timings = { ...API_TIMINGS, callMs: 120_000 };
  const leading = { lost: new AbortController().signal, holds: () => true };
  const api = new KubernetesApi(new Connection(cluster.kubeconfig(dir)), leading, timings);
  const ended = new AbortController();
  const { signal } = ended;
  for (const kind of ['deployment', 'statefulset'] as const) {
    cluster.workload(`gpu/${kind}s/m`);
    const workload = { namespace: 'gpu', kind, name: 'm' };
    await api.setScale(workload, await api.scale(workload, signal), signal);
  }
  await api.autoscalers('gpu', signal);
  await api.livePods('gpu', 'app=m', signal);
  await api.failedPods('gpu', 'app=m', signal);
  await api.warnings('gpu', 'reason=FailedCreate', signal);
  const { resourceVersion } = await api.endpointSlices('gpu', 'm', signal);
  const watch = api.watchEndpointSlices(
    { namespace: 'gpu', service: 'm', resourceVersion },
    () => {},
    signal,
  );
  const watched = expect(watch).rejects.toThrow();
  await eventually(() => cluster.watching > 0);
  ended.abort();
  await watched;
  await cluster.close();
  rmSync(dir, { recursive: true });

  const askNothing = ['constructor', 'selectorOf'];
  const names = Object.getOwnPropertyNames(KubernetesApi.prototype);
  const calls = names.filter((name) => !askNothing.includes(name));
  const tried = ['autoscalers', 'endpointSlices', 'failedPods', 'livePods', 'scale', 'setScale', 'warnings'];
  expect(calls.sort()).toEqual([...tried, 'watchEndpointSlices']);
  const { rules } = parse(readFileSync(join(import.meta.dirname, ROLE), 'utf8')) as { rules: Rule[] };
  const granted = rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource} of ${group}`)),
    ),
  );
  const asked = cluster.asked.map(({ group, resource, verb }) => `${verb} ${resource} of ${group}`);
  expect([...new Set(asked)].sort()).toEqual(granted.sort());
});
