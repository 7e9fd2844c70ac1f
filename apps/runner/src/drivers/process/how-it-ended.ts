import { constants } from 'node:os';

/** As the system tells it; null: not known, as of a process that is not the runner's own child. */
export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** `exited with code 1`, `was ended by SIGKILL`. */
export function howItEnded({ code, signal }: Exit): string {
  if (signal) return `was ended by ${signal}`;
  if (code === null) return 'exited';
  const passedOn = code > 128 && signalOf(code - 128);
  return `exited with code ${code}${passedOn ? ` (${passedOn})` : ''}`;
}

/** Why a process was never ready, as a sentence. `printed`: the last lines it printed, as they may be shown. */
export function howItsStartFailed(exit: Exit, command: string, printed: string): string {
  const { code } = exit;
  const shellSays = code === 127 ? NOT_FOUND : code === 126 ? NOT_EXECUTABLE : null;
  if (shellSays) {
    // Loaders use these codes too, as for a library that is missing: then the lines tell.
    const program = shellSays.said.exec(printed)?.[1] ?? (printed === '' ? programOf(command) : undefined);
    if (program !== undefined)
      return `The model's command ${shellSays.verdict}: ${program.slice(0, MAX_PROGRAM_LENGTH)} (exit code ${code}).`;
  }
  return `The model's process ${howItEnded(exit)} while starting.`;
}

const MAX_PROGRAM_LENGTH = 200;
/** As dash, bash and busybox put it, after their own name and the line. */
const NOT_FOUND = {
  verdict: 'was not found',
  said: /^\S*sh: (?:(?:line )?\d+: )?(?:exec: )?(.+?): (?:command )?not found$/m,
};
const NOT_EXECUTABLE = {
  verdict: 'cannot be executed',
  said: /^\S*sh: (?:(?:line )?\d+: )?(?:exec: )?(.+?): (?:Permission denied|Exec format error|cannot execute.*|Is a directory)$/m,
};

/** The first word of a command that is no assignment of a variable. */
const programOf = (command: string): string | undefined =>
  command
    .trim()
    .split(/\s+/)
    .find((word) => word !== 'exec' && !/^\w+=/.test(word));

const signalOf = (number: number): string | undefined =>
  Object.entries(constants.signals).find(([, value]) => value === number)?.[0];
