import { expect, it } from '@jest/globals';
import { ensureRequestPartitions } from '@tidegate/db';
import { ownTestDb } from '@tidegate/testing/hooks';
import { settlement } from '../testing/fixture.ts';
import { isDataError } from './data-error.ts';
import { writeSettlements } from './write.ts';

const db = ownTestDb();

const errorOf = (failed: Promise<unknown>): Promise<unknown> =>
  failed.then(
    () => null,
    (error) => error,
  );

it('the data is not to blame for a missing partition', async () => {
  const reservedAtMs = Date.UTC(2026, 0, 2);
  const missing = await errorOf(writeSettlements(db(), [settlement({ reservedAtMs })]));
  expect(String(missing)).toContain('no partition');
  expect(isDataError(missing)).toBe(false);
  await ensureRequestPartitions(db(), ['2026-01-02']);
  const tooMuch = settlement({ reservedAtMs, chargedTokens: 99_999 });
  expect(isDataError(await errorOf(writeSettlements(db(), [tooMuch])))).toBe(true);
});

it.each([
  ['keine Partition von Relation »request« für die Zeile gefunden', false],
  ['aucune partition de la relation « request » trouvée pour la ligne', false],
  ['neue Zeile für Relation »request_20260102« verletzt Check-Constraint »request_usage_check«', true],
])('a missing partition is told from a broken check in any language: %s', async (message, expected) => {
  const raised = db().$executeRawUnsafe(`DO $$ BEGIN RAISE '${message}' USING ERRCODE = '23514'; END $$`);
  expect(isDataError(await errorOf(raised))).toBe(expected);
});
