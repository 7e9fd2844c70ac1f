import { type Db, SchemaVersion } from '@tidegate/db';
import { DAY_MS, dayOf, monthOf } from '@tidegate/limits';
import { openQueueAdmin } from '../queue-admin.ts';
import { type Called, callFindings } from './calls.ts';
import { examineLedgers, LIVE_CHECKS } from './ledgers.ts';
import { openLiveReader } from './live-state.ts';
import { leftWorkloadFinding, modelFinding, upstreamKeyFinding } from './models.ts';
import { type DoctorReport, type Finding, wrong } from './report.ts';
import { compareHours, compareTimes, examineRefusals } from './rollups.ts';
import { queueFinding, runnerFinding, schemaFinding } from './services.ts';
import { compareDays, compareMonths } from './usage.ts';

export interface Patient extends Called {
  readonly db: Db;
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

/** Looks at all that must agree, and changes nothing. Rejects if Postgres cannot be asked. */
export async function examine(patient: Patient): Promise<DoctorReport> {
  const { db, nowMs, days } = patient;
  const month = monthOf(nowMs);
  const lastMonth = monthOf(Date.parse(`${month}-01`) - DAY_MS);
  const sinceDay = dayOf(nowMs - (days - 1) * DAY_MS);
  const schema = schemaFinding(await new SchemaVersion({ db, nowMs: () => 0 }).missing());
  if (!schema.ok) return reportOf([schema]);
  const attempt = async (checks: string | string[], look: () => Promise<Finding[]>): Promise<Finding[]> => {
    try {
      return await look();
    } catch (error) {
      const why = await patient.explain(error);
      return [checks]
        .flat()
        .map((check) =>
          wrong(check, `cannot be looked at: ${why}`, 'Make it reachable for ctl, and look again.'),
        );
    }
  };
  return reportOf([
    schema,
    ...(await attempt('month totals', async () => [await compareMonths(db, lastMonth)])),
    ...(await attempt('day totals', async () => [await compareDays(db, sinceDay)])),
    ...(await attempt('hours', async () => [await compareHours(db)])),
    ...(await attempt('times', async () => [await compareTimes(db)])),
    ...(await attempt('refusals', async () => [await examineRefusals(db)])),
    ...(await attempt('runners', async () => [await runnerFinding(db)])),
    ...(await attempt(['limiters', 'runner calls'], () => callFindings(patient))),
    ...(await attempt('upstream keys', async () => [await upstreamKeyFinding(db, patient.secretKeys)])),
    ...(await attempt('models', async () => [await modelFinding(db)])),
    ...(await attempt('left workloads', async () => [await leftWorkloadFinding(db)])),
    ...(await attempt([...LIVE_CHECKS], () => withLive(patient, month))),
    ...(await attempt('queue', () => withQueue(patient))),
  ]);
}

const reportOf = (findings: readonly Finding[]): DoctorReport => ({
  healthy: findings.every(({ ok }) => ok),
  findings,
});

async function withLive({ db, redisUrl, redisPrefix }: Patient, month: string): Promise<Finding[]> {
  const live = openLiveReader(redisUrl, redisPrefix);
  try {
    return await examineLedgers({ db, live, month });
  } catch (error) {
    throw live.lost ?? error;
  } finally {
    live.close();
  }
}

async function withQueue({ redisUrl, redisPrefix }: Patient): Promise<Finding[]> {
  const queue = openQueueAdmin(redisUrl, redisPrefix);
  try {
    return [queueFinding(await queue.status())];
  } catch (error) {
    throw queue.lost ?? error;
  } finally {
    await queue.close();
  }
}
