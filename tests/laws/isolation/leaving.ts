import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { Control } from '@tidegate/control';
import type { Db } from '@tidegate/db';
import { eventually, isPidAlive } from '@tidegate/testing';
import { must, OPERATOR, type Reachable } from '../../support/control.ts';
import { COMPLETIONS, call, open, readAnswer } from '../../support/http.ts';
import { ask, post } from '../../support/org.ts';
import { postgresOf, redisOf } from '../content/places.ts';
import { newTestOrg, SHARED_MODEL, type TestOrg } from './test-orgs.ts';

const STANDIN = join(import.meta.dirname, '../../../packages/standin/dist/main.js');
/** Keeps the request in flight after its first token. */
const STALLS = '[[tokens=2]][[after=1]][[stall]]';

export interface Leaving {
  readonly stack: Reachable;
  readonly control: Control;
  readonly db: Db;
  /** An organization that stays. */
  readonly other: TestOrg;
}

/** Publishes a command and wakes it with a request. Resolves to its process id. */
async function wokenCommand(world: Leaving, { slug: org, key }: TestOrg, name: string): Promise<number> {
  const command = `exec '${process.execPath}' '${STANDIN}' --port $PORT --name ${name}`;
  const model = { org, name, kind: 'text', mode: 'wake_on_request', contextTokens: 1_000, command } as const;
  const { id } = must(await world.control.publishModel(OPERATOR, { ...model, healthPath: '/health' }));
  const answer = await post(world.stack.info.gateway, key.key, ask(name, 'x'));
  expect(answer.status).toBe(200);
  // The condition is written a moment after the gateways are told.
  await eventually(async () => {
    const listed = must(await world.control.listModels(OPERATOR, { org }));
    return listed.find((one) => one.name === name)?.condition === 'running';
  });
  const record = join(world.stack.dataDir, 'runner', `${id}.json`);
  return Number(JSON.parse(readFileSync(record, 'utf8')).pid);
}

/** What only this organization's rows and Redis keys contain. Accounts of its members stay. */
async function ownTraces(db: Db, org: TestOrg): Promise<string[]> {
  const { mark, id, slug, key, narrowKey, ownModel } = org;
  const models = await db.model.findMany({ where: { orgId: id }, select: { id: true } });
  expect(models.length).toBeGreaterThan(1);
  return [
    ...[id, id.slice('org_'.length), slug, `Org ${mark}`, key.id, narrowKey.id, ownModel],
    ...models.map((model) => model.id),
  ];
}

/** Every table, and every key of Redis, that has one of these. */
async function placesWith({ stack, db }: Leaving, traces: readonly string[]): Promise<string[]> {
  const places = [...(await postgresOf(db)), ...(await redisOf(stack))];
  return places
    .filter(({ where }) => where !== 'table pg_stat_activity')
    .filter(({ bytes }) => traces.some((trace) => bytes.includes(trace)))
    .map(({ where }) => where);
}

export function describeLeaving(world: () => Leaving): void {
  describe('one that is deleted with keys, models, usage and requests in flight', () => {
    it('is refused by every gateway from then on, ends its requests and models, and leaves nothing in any table or key', async () => {
      const { stack, control, other } = world();
      const { gateway, gateways } = stack.info;
      const gone = await newTestOrg(control, gateway);
      try {
        const pid = await wokenCommand(world(), gone, `command-${gone.mark}`);
        const body = ask(SHARED_MODEL, STALLS, { stream: true });
        const streams = await Promise.all(
          [0, 1].map(() => open(gateway, { target: COMPLETIONS, key: gone.key.key, body })),
        );
        const inFlight = async () =>
          must(await control.listModels(OPERATOR, { org: gone.slug })).find(
            ({ name }) => name === SHARED_MODEL,
          )?.inFlight;
        await eventually(async () => (await inFlight()) === 2);
        const refusal = { orgId: gone.id, keyId: gone.key.id, hour: new Date(0), modelId: '', cause: '' };
        await world().db.refusalHour.create({ data: { ...refusal, code: 'model_not_found', refusals: 1n } });
        expect((await call(gateway, { key: gone.key.key, body: ask('unknown', 'x') })).status).toBe(404);
        const traces = await ownTraces(world().db, gone);
        expect((await placesWith(world(), traces)).length).toBeGreaterThan(10);
        const tracesOfOther = await ownTraces(world().db, other);
        const tablesOfOther = async () =>
          (await placesWith(world(), tracesOfOther)).filter(
            // Its gateways may report refusals at any moment.
            (at) => at.startsWith('table') && !/refusal_(hour|day)$/.test(at),
          );
        const untouched = await tablesOfOther();

        const confirm = `Org ${gone.mark}`;
        const deleted = must(await control.deleteOrg(OPERATOR, { org: gone.slug, confirm }));
        expect(deleted).toEqual({ id: gone.id, runnerReached: true, usageDeleted: true });

        await eventually(() => !isPidAlive(pid));
        for (const base of gateways)
          for (const key of [gone.key.key, gone.narrowKey.key])
            expect(await call(base, { key, body: ask(SHARED_MODEL, 'x') })).toMatchObject({
              status: 401,
              code: 'invalid_api_key',
            });
        for (const stream of streams) {
          const { over, text } = await readAnswer(stream);
          expect({ over, done: text.includes('[DONE]') }).toEqual({ over: false, done: false });
        }
        await eventually(async () => {
          // These record that it was deleted, and by which operator.
          const kept = ['table public.audit_event', 'table public.deleted_org'];
          expect((await placesWith(world(), traces)).sort()).toEqual(kept);
          return true;
        });
        expect(await tablesOfOther()).toEqual(untouched);
        expect((await post(gateway, other.key.key, ask(SHARED_MODEL, 'x'))).status).toBe(200);
      } finally {
        await gone.standin.close();
      }
    });
  });
}
