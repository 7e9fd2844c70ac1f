import type { KeyView, ModelView, RequestPage, RequestProgress, Result } from '@tidegate/control';
import { services } from '../server/services.ts';
import { read, type UserActor } from '../session/current.ts';
import type { Query } from '../ui/query.ts';
import { ENDS } from './ends.ts';
import { beforeOf, type RequestChoice, requestFilterOf, requestInputOf } from './filter.ts';

interface FoundRequests {
  readonly page: RequestPage;
  /** Of the request that was asked for by its id. Null: none was, or it was not found. */
  readonly state: RequestProgress | null;
  /** Why nothing can be found. */
  readonly reason: string | null;
}

/** What the Requests screen shows. */
export interface ShownRequests extends FoundRequests {
  readonly filter: RequestChoice;
  /** The error code that all shown requests ended with. Null: there is no such code. */
  readonly code: string | null;
  /** To filter by. */
  readonly keys: readonly KeyView[];
  readonly models: readonly ModelView[];
}

export async function loadRequests(actor: UserActor, org: string, query: Query): Promise<ShownRequests> {
  const { control } = services();
  const filter = requestFilterOf(query);
  const [found, keys, models] = await Promise.all([
    filter.id ? findRequest(actor, org, filter.id) : listRequests(actor, org, filter, beforeOf(query)),
    control.listKeys(actor, { org }),
    control.listModels(actor, { org, activity: false }),
  ]);
  const one = filter.id ? found.page.requests[0] : undefined;
  const code = one?.code ?? ENDS.find(({ id }) => id === filter.outcome)?.id ?? null;
  return { ...found, filter, code, keys: read(keys), models: read(models) };
}

async function findRequest(actor: UserActor, org: string, id: string): Promise<FoundRequests> {
  const found = await services().control.showRequest(actor, { org, id });
  const reason = reasonOf(found);
  if (reason !== null) return { ...NOTHING, reason };
  const { state, request } = read(found);
  return { page: { requests: request ? [request] : [], next: null }, state, reason };
}

async function listRequests(
  actor: UserActor,
  org: string,
  filter: RequestChoice,
  before: string,
): Promise<FoundRequests> {
  const listed = await services().control.listRequests(actor, {
    org,
    ...requestInputOf(filter),
    ...(before === '' ? {} : { before }),
  });
  const reason = reasonOf(listed);
  return reason === null ? { page: read(listed), state: null, reason } : { ...NOTHING, reason };
}

const NOTHING = { page: { requests: [], next: null }, state: null } as const;

/** Refusals that the page explains. Others are errors. */
const REASONS = ['invalid_input', 'not_found'];

const reasonOf = (result: Result<unknown>): string | null =>
  !result.ok && REASONS.includes(result.refusal.code) ? result.refusal.message : null;
