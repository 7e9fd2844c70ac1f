import type { Seen } from '../load/ask.ts';
import type { WitnessedCall } from '../world/witness.ts';
import type { Evidence, Must } from './evidence.ts';
import type { Row } from './rows.ts';

/**
 * Error codes of reservations that may never have reached the model: the gateway died or lost its
 * lease, or the client was gone.
 */
const MAY_NOT_HAVE_CALLED = new Set(['gateway_lost', 'lease_lost', 'client_closed']);

/** Checks the model's own count of calls and tokens, by organization, key and model. */
export function judgeCalls(evidence: Evidence, must: Must): void {
  const { calls, rows } = evidence;
  const tags = new Set(calls.map(({ order }) => order.tag));
  must(tags.size === calls.length, () => `${calls.length - tags.size} requests called the model twice`);
  const nameOf = callNames(evidence);
  const names = new Set([...calls.map(nameOf), ...rows.map(rowName)]);
  for (const name of names) {
    const ofName = calls.filter((call) => nameOf(call) === name);
    judgeCounts(
      name,
      ofName,
      rows.filter((row) => rowName(row) === name),
      must,
    );
  }
}

const rowName = ({ org, key, model }: Row): string => `${org} ${key} ${model}`;

function callNames({ orgs }: Evidence): (call: WitnessedCall) => string {
  const models = new Map(orgs.map(({ id, models }) => [id, models]));
  return ({ order, model }) => `${order.org} ${order.key} ${models.get(order.org)?.get(model)}`;
}

function judgeCounts(name: string, calls: readonly WitnessedCall[], rows: readonly Row[], must: Must): void {
  const excusable = rows.filter(({ errorCode }) => MAY_NOT_HAVE_CALLED.has(errorCode ?? '')).length;
  const within = (what: string, few: number, many: number) =>
    must(
      few <= many && few >= many - excusable,
      () => `${name}: ${few} ${what}, ${many} by the other side, ${excusable} excusable`,
    );
  within('calls', calls.length, rows.length);
  const answered = calls.filter((call) => call.answered);
  const withUsage = rows.filter(({ prompt }) => prompt !== null);
  // A complete answer of the model has an answered row, or an error whose gateway or client was
  // gone.
  within('rows answered with usage', withUsage.length, answered.filter(({ order }) => order.usage).length);
  within(
    'rows answered without usage',
    rows.filter((row) => row.answered && row.prompt === null).length,
    answered.filter(({ order }) => !order.usage).length,
  );
  const byNumber = new Map(answered.map((call) => [call.number, call]));
  let tokensOfModel = 0;
  let tokensOfRows = 0;
  for (const row of withUsage) {
    const call = byNumber.get(row.prompt ?? 0);
    byNumber.delete(row.prompt ?? 0);
    must(call?.order.usage === true, () => `${row.id}: the model has no such answer, or it is counted twice`);
    tokensOfModel += call ? call.number + call.order.tokens : 0;
    tokensOfRows += (row.prompt ?? 0) + (row.completion ?? 0);
  }
  must(tokensOfModel === tokensOfRows, () => `${name}: ${tokensOfRows} tokens, the model's ${tokensOfModel}`);
}

/** Checks each request whose id its client knows. */
export function judgeClients({ rows, seen, calls, excused }: Evidence, must: Must): void {
  const byId = new Map(rows.map((row) => [row.id, row]));
  const byTag = new Map(calls.map((call) => [call.order.tag, call]));
  for (const one of seen) {
    must(!one.hung, () => `${one.ask.order.tag}: no end after 45 s`);
    if (one.id === null) continue;
    const row = byId.get(one.id);
    const call = byTag.get(one.ask.order.tag);
    must(!call || row !== undefined, () => `${one.id}: the model was called, no row (${one.status})`);
    if (one.status === 429 || one.status === 401)
      must(!row && !call, () => `${one.id}: refused with ${one.code}, but a row or a call`);
    if (one.status === 200) must(row !== undefined, () => `${one.id}: answered, but no row`);
    if (!one.complete || !row) continue;
    if (row.errorCode === 'gateway_lost' && excused.has(one)) continue;
    judgeAnswer(one, row, call, must);
  }
  const known = new Set(seen.map(({ id }) => id));
  const strangers = rows.filter(({ id }) => !known.has(id)).length;
  const unknown = seen.filter(({ id }) => id === null).length;
  must(
    strangers <= unknown,
    () => `${strangers} rows that no client asked for, ${unknown} clients had no answer`,
  );
}

/** Checks that the model's answer, what the client received and the row agree. */
function judgeAnswer(one: Seen, row: Row, call: WitnessedCall | undefined, must: Must): void {
  const { key, model } = one.ask;
  const said = call?.order.usage ? [call.number, call.order.tokens] : [null, null];
  const told = [one.usage?.prompt_tokens ?? null, one.usage?.completion_tokens ?? null];
  must(row.answered, () => `${one.id}: answered whole, its row says ${JSON.stringify(row)}`);
  must(
    row.org === key.org.id && row.key === key.id && row.model === key.org.models.get(model),
    () => `${one.id}: written for another organization, key or model`,
  );
  must(
    JSON.stringify([row.prompt, row.completion]) === JSON.stringify(said),
    () => `${one.id}: the model's usage is ${said}, its row says ${row.prompt},${row.completion}`,
  );
  must(
    JSON.stringify(told) === JSON.stringify(said),
    () => `${one.id}: the model's usage is ${said}, its client was told ${told}`,
  );
}
