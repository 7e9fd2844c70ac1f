import { dayOf, HOUR_MS } from '@tidegate/limits';
import { z } from 'zod';
import { type Actor, access } from '../access/access.ts';
import type { ControlDeps } from '../deps.ts';
import { orgField, reference } from '../fields.ts';
import { lockMembers } from '../members/lock.ts';
import { ok, parseInput, type Result, refuse } from '../result.ts';
import { insertKey } from './create.ts';
import { removeRevoked } from './keys.ts';
import { PAGE_KEY } from './view.ts';

/*
 * Keys that a page makes for itself, so that an owner can try models without a key at hand. One is
 * a key like any other in the list, the limits and the audit trail; usage shows all of them as one.
 * It ends with its page, and once who made it may make none any more (revoke-pages.ts). If the page
 * cannot say so, the limiter refuses it after an hour, and metering deletes it.
 */

const LIFE_MS = HOUR_MS;
const LIMITS = { requestsPerMinute: 20, requestsAtOnce: 2 };

const createInput = z.object({ org: orgField });
export type CreatePageKeyInput = z.input<typeof createInput>;

export interface CreatedPageKey {
  readonly id: string;
  /** The key's value. It is shown only now and stored nowhere. */
  readonly key: string;
}

/**
 * Makes a key for the page that the user has open. A user has one in an organization: the one
 * before ends, as if its page had been left.
 */
export async function createPageKey(
  deps: ControlDeps,
  actor: Actor,
  input: CreatePageKeyInput,
): Promise<Result<CreatedPageKey>> {
  const parsed = parseInput(createInput, input);
  if (!parsed.ok) return parsed;
  const org = await access(deps, actor, parsed.value.org, 'key.create');
  if (!org.ok) return org;
  if (actor.kind !== 'user') return refuse('forbidden', 'Only a page of the console may do this.');
  const orgId = org.value.id;
  const before = await deps.db.apiKey.findMany({ where: { orgId, pageUserId: actor.userId } });
  for (const row of before) {
    const ended = await end(deps, actor, orgId, row);
    if (!ended.ok) return ended;
  }
  const expiresAt = new Date(deps.now() + LIFE_MS);
  // A limiter of the release before knows only days.
  const settings = { name: PAGE_KEY, ...LIMITS, expiresOn: dayOf(expiresAt.getTime()) };
  const page = { userId: actor.userId, expiresAt };
  const made = await deps.db.$transaction(async (tx) => {
    // Whoever has lost the right meanwhile has had all page keys ended. This one would be left.
    await lockMembers(tx, orgId);
    const still = await access({ ...deps, db: tx }, actor, orgId, 'key.create');
    return still.ok ? insertKey(deps, tx, actor, orgId, settings, page) : still;
  });
  return made.ok ? ok({ id: made.value.id, key: made.value.key }) : made;
}

const endInput = z.object({ org: orgField, id: reference('Key id') });
export type EndPageKeyInput = z.input<typeof endInput>;

/** Revokes and deletes the key of the user's page. It is no fault if there is none any more. */
export async function endPageKey(
  deps: ControlDeps,
  actor: Actor,
  input: EndPageKeyInput,
): Promise<Result<null>> {
  const parsed = parseInput(endInput, input);
  if (!parsed.ok) return parsed;
  // One's own key, so no role is asked for that may have been taken away since.
  const org = await access(deps, actor, parsed.value.org, 'org.read');
  if (!org.ok) return org;
  const orgId = org.value.id;
  const pageUserId = actor.kind === 'user' ? actor.userId : '';
  const row = await deps.db.apiKey.findFirst({ where: { id: parsed.value.id, orgId, pageUserId } });
  return row ? end(deps, actor, orgId, row) : ok(null);
}

type PageKey = Awaited<ReturnType<ControlDeps['db']['apiKey']['findMany']>>[number];

async function end(deps: ControlDeps, actor: Actor, orgId: string, row: PageKey): Promise<Result<null>> {
  await deps.db.apiKey.updateMany({
    where: { id: row.id, revokedAt: null },
    data: { revokedAt: new Date(deps.now()) },
  });
  return removeRevoked(deps, actor, orgId, row);
}
