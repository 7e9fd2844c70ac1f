import type { ScriptDeps } from '../script-deps.ts';

const KEYS_PER_PAGE = 1_000;

/**
 * Removes everything that Redis holds about a deleted organization. Idempotent. The limits go
 * first: without them nothing is granted, and Postgres has none to seed.
 *
 * Its keys are found by looking at every key of their server, so that none is missed. That takes
 * about a second for a million keys, in many short steps.
 */
export async function forgetOrg({ store, names }: ScriptDeps, orgId: string): Promise<void> {
  const org = names.org(orgId);
  await store.command('unlink', org);
  let cursor = '0';
  do {
    const page = await store.commandAt(
      org,
      'scan',
      cursor,
      'MATCH',
      names.ofOrg(orgId),
      'COUNT',
      KEYS_PER_PAGE,
    );
    const [next, keys] = page as [string, string[]];
    const [first, ...others] = keys;
    if (first !== undefined) await store.command('unlink', first, ...others);
    cursor = next;
  } while (cursor !== '0');
  // The indexes go last. Until then, whatever is left can be found.
  const instanceIds = (await store.command('zrange', names.instances, 0, -1)) as string[];
  await Promise.all([
    ...instanceIds.map((instanceId) => store.command('srem', names.orgsOf(instanceId), orgId)),
    store.command('srem', names.orgs, orgId),
  ]);
}
