import { MigrationError } from '@tidegate/db';
import { causeIn, EmbeddedError, systemCause } from '@tidegate/embedded';
import { StackError } from './errors.ts';
import { ownerHint } from './owner.ts';

/**
 * Turns the reason why a stack cannot start into an error that the user can act on: the step, then
 * the cause. Other errors stay as they are.
 */
export function explained(error: unknown, dataDir: string): unknown {
  if (error instanceof StackError) return error;
  const told = toldBy(error, dataDir);
  if (told === undefined) return error;
  const { message, output } = told;
  const hint = hintFor(message, dataDir);
  return new StackError(message, { cause: error, ...(output ? { output } : {}), ...(hint ? { hint } : {}) });
}

function toldBy(
  error: unknown,
  dataDir: string,
): { message: string; output?: string | undefined } | undefined {
  if (error instanceof EmbeddedError) return error;
  const { name = '', message = '' } = (error ?? {}) as Partial<Error>;
  if (error instanceof MigrationError)
    return { message: `The database could not be brought up to date: ${causeIn([message])}` };
  if (name.startsWith('PrismaClient'))
    return { message: `The database could not be used: ${causeIn([serverMessageIn(message)])}` };
  const cause = systemCause(error);
  return cause === undefined ? undefined : { message: `The data folder ${dataDir} cannot be used: ${cause}` };
}

/**
 * Prisma's message begins with what it was doing and ends with what went wrong. It quotes Postgres.
 */
function serverMessageIn(message: string): string {
  const last = message.trim().split('\n').at(-1) ?? '';
  return /Message: `(.+)`/.exec(last)?.[1] ?? last;
}

function hintFor(message: string, dataDir: string): string | undefined {
  if (/no space left|quota/i.test(message))
    return `Make room on the disk of ${dataDir}, or keep the data on another one: npm start -- --data-dir PATH`;
  if (/read-only/i.test(message))
    return `Make the file system of ${dataDir} writable, or keep the data elsewhere: npm start -- --data-dir PATH`;
  if (!/permission denied|not permitted/i.test(message)) return undefined;
  const concerned = /\((\/.+)\)$/.exec(message)?.[1];
  return ownerHint(dataDir, concerned);
}
