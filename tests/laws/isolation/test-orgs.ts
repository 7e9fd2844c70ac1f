import { randomBase62 } from '@tidegate/contracts';
import type { Control } from '@tidegate/control';
import { type Standin, startStandin } from '@tidegate/standin';
import { eventually } from '@tidegate/testing';
import { must, OPERATOR } from '../../support/control.ts';
import { ask, type NewKey, post } from '../../support/org.ts';

const MARK_LENGTH = 10;
export const SHARED_MODEL = 'tide';

/**
 * An organization in which everything of its own contains its mark. All other names are the same as
 * in the other organization.
 */
export interface TestOrg {
  readonly mark: string;
  readonly id: string;
  readonly slug: string;
  readonly owner: { readonly email: string; readonly password: string };
  /** May call every model. */
  readonly key: NewKey;
  /** May call only the shared model. */
  readonly narrowKey: NewKey;
  readonly standin: Standin;
  readonly ownModel: string;
}

export const newMark = (): string => randomBase62(MARK_LENGTH).toLowerCase();
export const ownModelOf = (mark: string): string => `own-${mark}`;

/** Creates an organization with an owner, two models, two keys and answered requests. */
export async function newTestOrg(control: Control, base: string): Promise<TestOrg> {
  const mark = newMark();
  const { id, slug: org } = must(await control.createOrg(OPERATOR, { name: `Org ${mark}`, plan: 'Pro' }));
  const owner = { email: `${mark}@example.com`, password: `password-${mark}` };
  must(await control.addMember(OPERATOR, { org, role: 'owner', ...owner }));
  const ownModel = ownModelOf(mark);
  const standin = await startStandin({ names: [SHARED_MODEL, ownModel] });
  const settings = { mode: 'always_on' as const, contextTokens: 1000, urls: [standin.url] };
  must(await control.publishModel(OPERATOR, { org, name: SHARED_MODEL, kind: 'text', ...settings }));
  must(await control.publishModel(OPERATOR, { org, name: ownModel, kind: 'vision', ...settings }));
  const limits = { requestsPerMinute: 600, requestsAtOnce: 10 };
  const key = must(await control.createKey(OPERATOR, { org, name: `Key ${mark}`, ...limits }));
  const narrowKey = must(
    await control.createKey(OPERATOR, { org, name: 'Narrow', models: [SHARED_MODEL], ...limits }),
  );
  for (const model of [SHARED_MODEL, ownModel]) {
    await eventually(async () => (await post(base, key.key, ask(model, 'x'))).status === 200);
  }
  // From here on, usage changes only by what a test does.
  await eventually(async () => {
    const { totals, month } = must(await control.showUsage(OPERATOR, { org }));
    return totals.requests === month.requests;
  });
  return { mark, id, slug: org, owner, key, narrowKey, standin, ownModel };
}

/** What another organization must not see of it. */
export const tracesOf = ({ mark, id, key, narrowKey }: TestOrg): string[] => [
  mark,
  id,
  id.slice('org_'.length),
  key.id,
  narrowKey.id,
];
