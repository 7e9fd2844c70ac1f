import { REFUSAL_REPORT_MAX } from '@tidegate/contracts';
import type { Db } from '@tidegate/db';
import type { ReportRefusals__Output } from '@tidegate/rpc';
import { LimiterError } from '../limiter-error.ts';
import { checkErrorCode, checkIds } from '../session/ids.ts';
import { writeRefusals } from './write.ts';

/** Each gateway has at most one report under way. */
const MAX_WAITING = 200;

/**
 * Writes gateways' reports of refusals to Postgres, one at a time: decisions need the other
 * connections more.
 */
export class RefusalWriter {
  readonly #db: Db;
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;

  constructor(db: Db) {
    this.#db = db;
  }

  /** Resolves when the report is committed. Rejects with LimiterError. */
  async write(report: ReportRefusals__Output): Promise<void> {
    check(report);
    if (this.#waiting >= MAX_WAITING)
      throw new LimiterError('overloaded', 'too many reports are waiting', { notRun: true });
    this.#waiting++;
    const written = this.#last.then(() => writeRefusals(this.#db, report));
    this.#last = written.catch(() => {});
    try {
      await written;
    } catch (cause) {
      throw new LimiterError('postgres', 'refusals could not be written', { cause });
    } finally {
      this.#waiting--;
    }
  }
}

function check({ gatewayId, sequence, counts }: ReportRefusals__Output): void {
  checkIds(gatewayId);
  if (sequence < 1) throw new LimiterError('bad_call', 'a report has no sequence number');
  if (counts.length > REFUSAL_REPORT_MAX) throw new LimiterError('bad_call', 'too many counts in a report');
  for (const { orgId, keyId, modelId, code, cause, hourMs, refusals } of counts) {
    checkIds(orgId, keyId);
    checkErrorCode(code);
    if (modelId !== '') checkIds(modelId);
    if (cause !== '') checkErrorCode(cause);
    if (hourMs <= 0 || refusals < 1) throw new LimiterError('bad_call', 'a count is malformed');
  }
}
