import { joinedIn, WITHDRAWN } from '../redis/names.ts';
import type { ScriptDeps } from '../script-deps.ts';
import { parseOutboxEntry } from './entry.ts';

const ENTRIES_PER_PAGE = 1_000;
/** Metering confirms within a second. An outbox longer than this is not looked through. */
const MAX_PAGES = 50;

/**
 * Finds a request that metering has not written yet: in progress, or in the outbox. Looks in this
 * order because a request moves that way.
 */
export async function findRequest(
  scriptDeps: ScriptDeps,
  orgId: string,
  admissionId: string,
): Promise<'open' | 'queued' | 'unknown'> {
  if (await isOpen(scriptDeps, orgId, admissionId)) return 'open';
  return (await isInOutbox(scriptDeps, orgId, admissionId)) ? 'queued' : 'unknown';
}

async function isOpen({ store, names }: ScriptDeps, orgId: string, admissionId: string): Promise<boolean> {
  const fields = (await store.command('hkeys', names.org(orgId))) as string[];
  const records = await Promise.all(
    joinedIn(fields).map((instanceId) => store.command('hget', names.open(orgId, instanceId), admissionId)),
  );
  return records.some((record) => record !== null && record !== WITHDRAWN);
}

async function isInOutbox(
  { store, names }: ScriptDeps,
  orgId: string,
  admissionId: string,
): Promise<boolean> {
  let until = '+';
  // Newest first: people ask for what has just happened.
  for (let page = 0; page < MAX_PAGES; page++) {
    const entries = (await store.command(
      'xrevrange',
      names.outbox(orgId),
      until,
      '-',
      'COUNT',
      ENTRIES_PER_PAGE,
    )) as [id: string, fields: string[]][];
    if (
      entries.some(
        ([id, fields]) => parseOutboxEntry(orgId, id, fields[1] ?? '')?.reservationId === admissionId,
      )
    )
      return true;
    const oldest = entries.at(-1);
    if (!oldest || entries.length < ENTRIES_PER_PAGE) return false;
    until = `(${oldest[0]}`;
  }
  return false;
}
