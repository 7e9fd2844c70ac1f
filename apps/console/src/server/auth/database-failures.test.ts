import { describe, expect, it } from '@jest/globals';
import { ownTestDb } from '@tidegate/testing/hooks';
import { noted, throwingFailures } from './database-failures.ts';

const db = ownTestDb();

/** Answers as better-auth does, whether the query fails or not. */
const answering = (query: () => Promise<unknown>) => async () => {
  await noted(query).catch(() => {});
  return new Response(null, { status: 400 });
};
const user = { id: 'usr_1', email: 'ada@example.com', name: 'Ada' };

describe('a query that better-auth has an answer to', () => {
  it.each<[string, () => Promise<unknown>]>([
    ['finds that another console has deleted the row', () => db().user.delete({ where: { id: 'usr_none' } })],
    ['finds that the row already exists', () => db().user.createMany({ data: [user, user] })],
  ])('is not a failure if it %s', async (_what, query) => {
    expect((await throwingFailures(answering(query))).status).toBe(400);
  });

  it('is a failure if it breaks another rule of the database', async () => {
    const orphan = { id: 'acc_1', accountId: 'x', providerId: 'oidc', userId: 'usr_none' };
    const failing = throwingFailures(answering(() => db().account.create({ data: orphan })));
    await expect(failing).rejects.toThrow('Foreign key constraint');
  });
});
