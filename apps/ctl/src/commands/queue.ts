import type { Command } from 'commander';
import { CommandError, type Context, OPERATOR, print, requiredRedisUrl } from '../context.ts';
import { countText, facts, table, time } from '../output/table.ts';
import { NONE } from '../output/values.ts';
import type { DeadLetter, QueueAdmin, QueueStatus } from '../queue-admin.ts';
import { toWhole, verb } from './verb.ts';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 100_000;

async function withQueue<T>(context: Context, use: (queue: QueueAdmin) => Promise<T>): Promise<T> {
  const config = context.config();
  const redisUrl = requiredRedisUrl(config);
  const { withQueueAdmin } = await import('../queue-admin.ts');
  return withQueueAdmin(redisUrl, config.REDIS_PREFIX, use);
}

/**
 * Replays one dead letter, or all. If there are any, this is recorded in the installation's trail.
 */
async function replay(context: Context, id: string | undefined): Promise<number> {
  const { recordOperatorAct } = await import('@tidegate/control');
  return withQueue(context, async (queue) => {
    const ids = await queue.deadIds(id);
    if (ids.length === 0) return 0;
    const details = { deadLetters: ids.length };
    const event = { action: 'queue.replay', target: id ?? 'all', details } as const;
    await context.withDb((db) => recordOperatorAct({ db, now: Date.now }, OPERATOR, event));
    return queue.replay(ids);
  });
}

const statusText = (status: QueueStatus): string =>
  facts([
    ['Waiting', status.waiting],
    ['Active', status.active],
    ['Retrying', status.delayed],
    ['Dead', status.dead],
  ]);

const deadText = (dead: DeadLetter[]): string =>
  table(dead, [
    { title: 'Id', cell: (letter) => letter.id },
    { title: 'Failed', cell: (letter) => time(letter.failedAt, NONE) },
    { title: 'Attempts', cell: (letter) => letter.attempts },
    { title: 'Settlements', cell: (letter) => letter.settlements },
    { title: 'Reason', cell: (letter) => letter.reason },
  ]);

export function addQueueCommand(program: Command, context: Context): void {
  const noun = program.command('queue').description('the settlement queue');
  verb(
    noun,
    'status',
    'count jobs by state',
    [],
    async ({ json }) => {
      const status = await withQueue(context, (queue) => queue.status());
      print(context.io, { json, human: statusText }, status);
    },
    null,
  );
  verb<{ limit?: number }>(
    noun,
    'dead',
    'list the dead letters, newest first',
    [{ flags: '--limit <n>', help: `at most this many (default ${DEFAULT_LIMIT})`, parse: toWhole }],
    async ({ json, limit = DEFAULT_LIMIT }) => {
      if (!(limit >= 1 && limit <= MAX_LIMIT))
        throw new CommandError(`Limit must be a whole number from 1 to ${countText(MAX_LIMIT)}.`);
      const dead = await withQueue(context, (queue) => queue.dead(limit));
      print(context.io, { json, human: deadText }, dead);
    },
    null,
  );
  verb<{ id?: string }>(
    noun,
    'replay',
    'queue the dead letters again',
    [{ flags: '--id <id>', help: 'only this one' }],
    async ({ json, id }) => {
      const replayed = await replay(context, id);
      if (id !== undefined && replayed === 0) throw new CommandError(`There is no dead letter "${id}".`);
      print(context.io, { json, human: (value) => `${value.replayed} queued again.` }, { replayed });
    },
    null,
  );
}
