import { constants } from 'node:os';
import type { Exit } from '@tidegate/processes';

/** Such as `exited with code 1` or `was ended by SIGKILL`. */
export function describeExit({ code, signal }: Exit): string {
  if (signal) return `was ended by ${signal}`;
  if (code === null) return 'exited';
  const passedOn = code > 128 && signalOf(code - 128);
  return `exited with code ${code}${passedOn ? ` (${passedOn})` : ''}`;
}

/**
 * Why a process never became ready, as a sentence. `printed`: its last lines, in the form that may
 * be shown.
 */
export function describeStartFailure(exit: Exit, command: string, printed: string): string {
  const { code } = exit;
  const shellSays = code === 127 ? NOT_FOUND : code === 126 ? NOT_EXECUTABLE : null;
  if (shellSays) {
    // Loaders use these codes too, for example when a library is missing. Then the lines say so.
    const program = shellSays.said.exec(printed)?.[1] ?? (printed === '' ? programOf(command) : undefined);
    if (program !== undefined)
      return `The model's command ${shellSays.verdict}: ${program.slice(0, MAX_PROGRAM_LENGTH)} (exit code ${code}).`;
  }
  return `The model's process ${describeExit(exit)} while starting.`;
}

const MAX_PROGRAM_LENGTH = 200;
/** The messages of dash, bash and busybox, after their own name and the line number. */
const NOT_FOUND = {
  verdict: 'was not found',
  said: /^\S*sh: (?:(?:line )?\d+: )?(?:exec: )?(.+?): (?:command )?not found$/m,
};
const NOT_EXECUTABLE = {
  verdict: 'cannot be executed',
  said: /^\S*sh: (?:(?:line )?\d+: )?(?:exec: )?(.+?): (?:Permission denied|Exec format error|cannot execute.*|Is a directory)$/m,
};

/** The first word of a command that is not `exec` and assigns no variable. */
const programOf = (command: string): string | undefined =>
  command
    .trim()
    .split(/\s+/)
    .find((word) => word !== 'exec' && !/^\w+=/.test(word));

const signalOf = (number: number): string | undefined =>
  Object.entries(constants.signals).find(([, value]) => value === number)?.[0];
