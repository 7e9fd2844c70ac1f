import type { z } from 'zod';
import { type Actor, access } from '../access/access.ts';
import { audit } from '../access/audit.ts';
import type { ControlDeps, Inspection, ServerToInspect } from '../deps.ts';
import { publishedNameOf } from '../discovery/name.ts';
import { lockedAccess } from '../members/lock.ts';
import { ok, parseInput, type Result, refuse } from '../result.ts';
import { unreached } from '../unreached.ts';
import { describeCheck } from './describe-check.ts';
import { publishInput } from './input.ts';
import { originOf } from './origin.ts';
import { poolFor } from './placement.ts';

/** What is known about the model so far. Without a name, any model will do. */
const checkInput = publishInput
  .pick({ org: true, upstreamModel: true, upstreamKey: true, healthPath: true, pool: true })
  .extend({
    urls: publishInput.shape.urls.unwrap(),
    name: publishInput.shape.name.optional(),
    contextTokens: publishInput.shape.contextTokens.optional(),
  });
export type CheckModelInput = z.input<typeof checkInput>;

export interface ServedModelView {
  /** Its name at the server. */
  readonly upstreamModel: string;
  /** A name to publish it under. Empty: no part of its own name may be used. */
  readonly name: string;
  readonly kind: 'text' | 'vision';
  /** Null: the server does not say. */
  readonly contextTokens: number | null;
}

export interface ModelCheck {
  /** Whether no problem was found with publishing, or with the change. */
  readonly ok: boolean;
  /** One sentence or more for each server, for users. */
  readonly findings: readonly { readonly url: string; readonly problem: boolean; readonly text: string }[];
  /** The models that all servers list. */
  readonly models: readonly ServedModelView[];
}

const WINDOW_MS = 60_000;
/**
 * The most checks that an organization may make in a minute. Publishing reveals just as much, but
 * more slowly.
 */
const MOST_A_MINUTE = 20;

/**
 * Asks the servers of a model that is to be published what they serve, and whether calls can work.
 * The runner of its pool asks them, as it does when the model is published. Nothing is completed or
 * loaded.
 */
export async function checkModel(
  deps: ControlDeps,
  actor: Actor,
  input: CheckModelInput,
): Promise<Result<ModelCheck>> {
  const parsed = parseInput(checkInput, input);
  if (!parsed.ok) return parsed;
  const { urls, name = '', upstreamModel = name, upstreamKey = '', healthPath, contextTokens } = parsed.value;
  const org = await access(deps, actor, parsed.value.org, 'model.publish');
  if (!org.ok) return org;
  const pool = poolFor(deps, actor, parsed.value.pool);
  if (!pool.ok) return pool;
  const upstreamModelAssumed = parsed.value.upstreamModel === undefined;
  const asked = {
    upstreamModel,
    upstreamModelAssumed,
    upstreamKey,
    ...(healthPath === undefined ? {} : { healthPath }),
  };
  return askServers(deps, actor, { orgId: org.value.id, pool: pool.value, urls, asked, contextTokens });
}

/** What to ask of which servers. */
interface Question {
  readonly orgId: string;
  /** The pool whose runner asks. */
  readonly pool: string;
  readonly urls: readonly string[];
  readonly asked: Omit<ServerToInspect, 'baseUrl' | 'orgId'>;
  readonly contextTokens: number | undefined;
  /**
   * The name of the published model that the question is about. Absent: it is not published yet.
   */
  readonly model?: string;
}

/** Asks the servers, unless the organization has made too many checks lately. */
export async function askServers(
  deps: ControlDeps,
  actor: Actor,
  question: Question,
): Promise<Result<ModelCheck>> {
  const { orgId, pool, urls, asked, contextTokens } = question;
  // An operator can reach the servers anyway.
  const allowed = actor.kind === 'operator' ? ok(null) : await countCheck(deps, actor, question);
  if (!allowed.ok) return allowed;
  try {
    const inspections = await Promise.all(
      urls.map((baseUrl) => deps.runner.inspect({ baseUrl, orgId, ...asked }, pool)),
    );
    const wanted = { upstreamModel: asked.upstreamModel, contextTokens };
    const findings = urls.map((url, i) => ({ url, ...describeCheck(inspections[i] as Inspection, wanted) }));
    return ok({ ok: findings.every(({ problem }) => !problem), findings, models: commonModels(inspections) });
  } catch (error) {
    return refuse('unavailable', `No server was checked: ${unreached('runner', error, actor)}.`);
  }
}

/** Counts checks in the audit trail, which also shows who had which servers asked. */
async function countCheck(
  deps: ControlDeps,
  actor: Actor,
  { orgId, urls, model }: Question,
): Promise<Result<null>> {
  const now = deps.now();
  return deps.db.$transaction(async (tx): Promise<Result<null>> => {
    const still = await lockedAccess(deps, tx, actor, orgId, 'model.publish');
    if (!still.ok) return still;
    const since = new Date(now - WINDOW_MS);
    const recent = await tx.auditEvent.count({ where: { orgId, action: 'model.check', at: { gt: since } } });
    if (recent >= MOST_A_MINUTE)
      return refuse('limit_reached', `At most ${MOST_A_MINUTE} server tests a minute: wait a moment.`);
    const origins = originOf({ driver: 'external', settings: { urls: [...urls] } });
    const details = { ...origins, ...(model === undefined ? {} : { model }) };
    await audit(tx, actor, now, [{ orgId, action: 'model.check', target: orgId, details }]);
    return ok(null);
  });
}

/** The smallest context of all servers counts, because any of them may get a request. */
function commonModels([first, ...others]: readonly Inspection[]): ServedModelView[] {
  return (first?.models ?? []).flatMap((model) => {
    const same = others.map(({ models }) => models.find(({ name }) => name === model.name));
    if (same.includes(undefined)) return [];
    const contexts = [model, ...same].flatMap((one) => (one?.contextTokens ? [one.contextTokens] : []));
    return [
      {
        upstreamModel: model.name,
        name: publishedNameOf(model.name),
        kind: model.vision ? 'vision' : 'text',
        contextTokens: contexts.length > 0 ? Math.min(...contexts) : null,
      },
    ];
  });
}
