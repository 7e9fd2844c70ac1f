import { beforeEach, describe, expect, it } from '@jest/globals';
import { eventually, testClock, waitingForLocks } from '@tidegate/testing';
import { ownTestDb } from '@tidegate/testing/hooks';
import { createFixture, type Fixture, OPERATOR, refusal, value } from '../fixture.ts';

const db = ownTestDb();
let fixture: Fixture;
let org: string;

beforeEach(async () => {
  await db().model.deleteMany();
  fixture = createFixture(db(), testClock().now);
  org = await fixture.org('Workloads');
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
const settingsOf = async (id: string) => (await db().model.findUniqueOrThrow({ where: { id } })).settings;

describe('a Kubernetes workload', () => {
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
    [{ kubernetes: undefined, command: 'serve', anyway: true }, 'anyway'],
    [{ kubernetes: undefined, mode: 'always_on', urls: ['http://x'], anyway: true }, 'anyway'],
  ])('is not published with %j', async (input, field) => {
    expect(refusal(await publish(input))).toMatchObject({ code: 'invalid_input', field });
    expect(fixture.runner.calls).toEqual([]);
  });

  it('is never published when the runner says that it cannot run it', async () => {
    const problem = 'This runner runs no models in Kubernetes.';
    fixture.runner.workload = { problem, impossible: true };
    for (const anyway of [false, true])
      expect(refusal(await publish({ anyway }))).toEqual({
        code: 'invalid_input',
        field: 'kubernetes',
        message: problem,
      });
    expect(await db().model.count()).toBe(0);
  });

  it('is published only with `anyway` when the runner says what is missing, or says nothing', async () => {
    fixture.runner.workload = { problem: 'There is no Service gpu/qwen.', impossible: false };
    expect(refusal(await publish())).toEqual({
      code: 'invalid_input',
      field: 'kubernetes',
      message: 'There is no Service gpu/qwen. It can be published anyway.',
    });
    value(await publish({ anyway: true }));
    fixture.runner.away = true;
    const other = { name: 'n', kubernetes: 'gpu/other' };
    expect(refusal(await publish(other))).toEqual({
      code: 'unavailable',
      field: 'kubernetes',
      message:
        'It is not published, because it cannot be checked: the runner could not be reached. It can be published anyway.',
    });
    expect(value(await publish({ ...other, anyway: true })).runnerReached).toBe(false);
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

  it('has one model when two are published for it at once', async () => {
    const answers = await db().$transaction(async (tx) => {
      // Neither can be inserted before both have begun.
      await tx.$queryRaw`SELECT id FROM org WHERE slug = ${org} FOR UPDATE`;
      const both = ['m', 'n'].map((name) => publish({ name }));
      await eventually(async () => (await waitingForLocks(db())) === both.length);
      return both;
    });
    const refused = (await Promise.all(answers)).flatMap((one) => (one.ok ? [] : one.refusal.code));
    expect(refused).toEqual(['conflict']);
    expect(await db().model.count()).toBe(1);
  });

  it('can change its Service, replicas and start timeout, but not become another workload', async () => {
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
    expect(refusal(await change({ urls: ['http://x'] })).message).toContain('is a Kubernetes workload');
    expect(refusal(await change({ kubernetes: 'gpu/other' })).code).toBe('invalid_input');
  });
});
