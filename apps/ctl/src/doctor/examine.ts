import { type Db, SchemaVersion, sqlStateOf, TOOK_TOO_LONG } from '@tidegate/db';
import { DAY_MS, dayOf, monthOf } from '@tidegate/limits';
import { withQueueAdmin } from '../queue-admin.ts';
import { type Called, callFindings } from './calls.ts';
import { examineLedgers, LEDGER_CHECKS, leaseFinding } from './ledgers.ts';
import { type LiveStateReader, withLiveState } from './live-state.ts';
import { leftWorkloadFinding, modelFinding, upstreamKeyFinding } from './models.ts';
import { type DoctorReport, type Finding, warn, wrong } from './report.ts';
import { compareHours, compareTimes, examineRefusals } from './rollups.ts';
import { postgresFinding, queueFinding, redisFinding, runnerFinding, schemaFinding } from './services.ts';
import { compareDays, compareMonths } from './usage.ts';

export interface Patient extends Called {
  /** Connects to Postgres, and disconnects after `use`. */
  readonly withDb: <T>(use: (db: Db) => Promise<T>) => Promise<T>;
  readonly redisUrl: string;
  readonly redisPrefix: string;
  /** The current one, and the previous one if there is one. */
  readonly secretKeys: readonly Uint8Array[];
  /** How many days to compare with their request rows, today included. */
  readonly days: number;
  /** Unix milliseconds. */
  readonly nowMs: number;
  /** Says in plain words why something could not be asked. */
  readonly explain: (error: unknown) => Promise<string>;
}

/**
 * Compares everything that must agree, and changes nothing. What does not answer is a finding, too.
 * Asks everything at once, so that it waits only once for what hangs.
 */
export async function examine(patient: Patient): Promise<DoctorReport> {
  const looks = await Promise.all([
    attempt(patient, ['postgres'], () => patient.withDb((db) => postgresFindings(db, patient))),
    attempt(patient, ['limiters', 'runner calls'], () => callFindings(patient)),
    attempt(patient, ['redis', 'gateway leases'], () =>
      withLive(patient, async (live) => [
        redisFinding(await live.info()),
        leaseFinding(await live.instances()),
      ]),
    ),
    attempt(patient, ['queue'], () =>
      withQueueAdmin(patient.redisUrl, patient.redisPrefix, async (queue) => [
        queueFinding(await queue.status()),
      ]),
    ),
  ]);
  const findings = looks.flat();
  return { healthy: findings.every(({ ok }) => ok), findings };
}

/** All checks that need Postgres. Stops early if its schema is not this release's. */
async function postgresFindings(db: Db, patient: Patient): Promise<Finding[]> {
  const { nowMs, days, secretKeys } = patient;
  const month = monthOf(nowMs);
  const lastMonth = monthOf(Date.parse(`${month}-01`) - DAY_MS);
  const sinceDay = dayOf(nowMs - (days - 1) * DAY_MS);
  const postgres = await postgresFinding(db);
  const schema = schemaFinding(await new SchemaVersion({ db, nowMs: () => 0 }).missing());
  if (!schema.ok) return [postgres, schema];
  const one = (check: string, look: () => Promise<Finding>) =>
    attempt(patient, [check], async () => [await look()]);
  const large = (check: string, look: () => Promise<Finding>) =>
    attempt(patient, [check], async () => [await look()], { isLarge: true });
  return [
    postgres,
    schema,
    ...(await large('month totals', () => compareMonths(db, lastMonth))),
    ...(await large('day totals', () => compareDays(db, sinceDay))),
    ...(await large('hours', () => compareHours(db))),
    ...(await large('times', () => compareTimes(db))),
    ...(await large('refusals', () => examineRefusals(db))),
    ...(await one('runners', () => runnerFinding(db))),
    ...(await one('upstream keys', () => upstreamKeyFinding(db, secretKeys))),
    ...(await one('models', () => modelFinding(db))),
    ...(await one('left workloads', () => leftWorkloadFinding(db))),
    ...(await attempt(
      patient,
      LEDGER_CHECKS,
      () => withLive(patient, (live) => examineLedgers({ db, live, month })),
      { isLarge: true },
    )),
  ];
}

/**
 * If `look` fails, each of `checks` says why. `isLarge`: it reads large tables, so it is no fault
 * if that takes too long.
 */
async function attempt(
  { explain }: Pick<Patient, 'explain'>,
  checks: readonly string[],
  look: () => Promise<Finding[]>,
  { isLarge = false } = {},
): Promise<Finding[]> {
  try {
    return await look();
  } catch (error) {
    const why = await explain(error);
    if (isLarge && sqlStateOf(error) === TOOK_TOO_LONG)
      return checks.map((check) =>
        warn(
          check,
          `could not be checked in time: ${why}`,
          'This does not mean that anything is wrong. Run it again while Postgres is less busy.',
        ),
      );
    return checks.map((check) =>
      wrong(check, `cannot be checked: ${why}`, 'Make it reachable for ctl, then run this again.'),
    );
  }
}

const withLive = (
  { redisUrl, redisPrefix }: Patient,
  look: (live: LiveStateReader) => Promise<Finding[]>,
): Promise<Finding[]> => withLiveState(redisUrl, redisPrefix, look);
