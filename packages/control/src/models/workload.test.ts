import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { closeDb, createDb, type Db } from '@tidegate/db';
import { PATIENT_DB, type TestPostgres, testClock, testPostgres } from '@tidegate/testing';
import { createFixture, type Fixture, OPERATOR, refusal, value } from '../fixture.ts';

let server: TestPostgres;
let db: Db;
let fixture: Fixture;
let org: string;

beforeAll(async () => {
  server = await testPostgres();
  db = createDb(server.url, PATIENT_DB);
});
beforeEach(async () => {
  await db.model.deleteMany();
  fixture = createFixture(db, testClock().now);
  org = await fixture.org('Workloads');
});
afterAll(async () => {
  await closeDb(db);
  await server.drop();
});

const workload = {
  name: 'm',
  kind: 'text',
  mode: 'wake_on_request',
  contextTokens: 4_096,
  kubernetes: 'gpu/qwen',
} as const;
const publish = (more: object = {}, actor = OPERATOR) =>
  fixture.control.publishModel(actor, { org, ...workload, ...more } as never);
const settingsOf = async (id: string) => (await db.model.findUniqueOrThrow({ where: { id } })).settings;

describe('a workload of Kubernetes', () => {
  it.each([
    [{}, { kind: 'deployment', service: 'qwen' }],
    [
      { kubernetes: 'gpu/deployment/qwen', service: 'llm' },
      { kind: 'deployment', service: 'llm' },
    ],
    [
      { kubernetes: 'gpu/statefulset/qwen', service: 'llm:http', replicas: 2, startTimeoutS: 60 },
      { kind: 'statefulset', service: 'llm', port: 'http', replicas: 2, startTimeoutS: 60 },
    ],
  ])('is published with %j', async (input, settings) => {
    const { id, driver } = value(await publish(input));
    expect(driver).toBe('kubernetes');
    expect(await settingsOf(id)).toEqual({ namespace: 'gpu', name: 'qwen', ...settings });
    const { kind, service } = settings;
    expect(fixture.runner.calls).toEqual([`check gpu/${kind}/qwen ${service}`, `refresh ${id}`]);
  });

  it.each([
    [{ kubernetes: 'qwen' }, 'kubernetes'],
    [{ kubernetes: 'gpu/daemonset/qwen' }, 'kubernetes'],
    [{ kubernetes: '../gpu/qwen' }, 'kubernetes'],
    [{ service: 'a:b:c' }, 'service'],
    [{ replicas: 0 }, 'replicas'],
    [{ command: 'serve' }, 'urls'],
    [{ kubernetes: undefined, command: 'serve', replicas: 2 }, 'replicas'],
    [{ kubernetes: undefined, command: 'serve', service: 'x' }, 'service'],
  ])('is not published with %j', async (input, field) => {
    expect(refusal(await publish(input))).toMatchObject({ code: 'invalid_input', field });
    expect(fixture.runner.calls).toEqual([]);
  });

  it('is not published when the runner says that it cannot have it, or says nothing', async () => {
    fixture.runner.workloadProblem = 'This runner runs no models in Kubernetes.';
    expect(refusal(await publish())).toEqual({
      code: 'invalid_input',
      field: 'kubernetes',
      message: 'This runner runs no models in Kubernetes.',
    });
    fixture.runner.away = true;
    expect(refusal(await publish())).toMatchObject({ code: 'unavailable', field: 'kubernetes' });
    expect(await db.model.count()).toBe(0);
  });

  it('is for operators only: owners have no rights in the cluster', async () => {
    const owner = await fixture.user(org, 'owner');
    expect(refusal(await publish({}, owner as never))).toMatchObject({
      code: 'forbidden',
      field: 'kubernetes',
    });
    expect(fixture.runner.calls).toEqual([]);
  });

  it('has one model, because a second one would be put to sleep with the first', async () => {
    value(await publish());
    const other = await fixture.org('Others');
    expect(refusal(await publish({ org: other, name: 'n' }))).toMatchObject({ code: 'conflict' });
    value(await publish({ name: 'n', kubernetes: 'gpu/statefulset/qwen' }));
    value(await fixture.control.deleteModel(OPERATOR, { org, name: 'm' }));
    value(await publish());
  });

  it('can change its Service, count and time to start, but not itself', async () => {
    const { id } = value(await publish({ service: 'old:http', replicas: 2 }));
    const change = (changes: object) => fixture.control.changeModel(OPERATOR, { org, name: 'm', ...changes });
    value(await change({ service: 'new', replicas: 3, startTimeoutS: 60 }));
    expect(await settingsOf(id)).toEqual({
      namespace: 'gpu',
      kind: 'deployment',
      name: 'qwen',
      service: 'new',
      replicas: 3,
      startTimeoutS: 60,
    });
    expect(refusal(await change({ urls: ['http://x'] })).message).toContain('is a workload of Kubernetes');
    expect(refusal(await change({ kubernetes: 'gpu/other' })).code).toBe('invalid_input');
  });
});
