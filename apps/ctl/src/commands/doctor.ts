import { KEPT_DAYS } from '@tidegate/limits';
import type { Command } from 'commander';
import { CommandError, type Context, print, requiredRedisUrl } from '../context.ts';
import { reportText } from '../doctor/report.ts';
import { failureOf } from '../failure.ts';
import { toWhole, verb } from './verb.ts';

const DEFAULT_DAYS = 2;

export function addDoctorCommand(program: Command, context: Context): void {
  const help = `days to compare with their requests (default ${DEFAULT_DAYS})`;
  verb<{ days?: number }>(
    program,
    'doctor',
    'check services, secrets, models and state, and say what to do',
    [{ flags: '--days <n>', help, parse: toWhole }],
    async ({ days = DEFAULT_DAYS, json }) => {
      if (!(days >= 1 && days <= KEPT_DAYS.requests))
        throw new CommandError(`Days must be a whole number from 1 to ${KEPT_DAYS.requests}.`);
      const config = context.config();
      const { REDIS_PREFIX: redisPrefix, SECRET_KEY, SECRET_KEY_PREVIOUS } = config;
      const redisUrl = requiredRedisUrl(config);
      const { examine } = await import('../doctor/examine.ts');
      const report = await examine({
        withDb: context.withDb,
        waits: context.waits,
        ...{ redisUrl, redisPrefix, days, nowMs: Date.now(), explain: failureOf },
        ...{ limiters: config.LIMITER_ADDRESSES, runners: config.RUNNER_ADDRESS, caller: config.caller },
        secretKeys: SECRET_KEY_PREVIOUS ? [SECRET_KEY, SECRET_KEY_PREVIOUS] : [SECRET_KEY],
      });
      print(context.io, { json, human: reportText }, report);
      if (report.healthy) return;
      const wrong = report.findings.filter(({ ok }) => !ok).length;
      throw new CommandError(`${wrong === 1 ? '1 thing needs' : `${wrong} things need`} attention.`);
    },
    null,
  );
}
