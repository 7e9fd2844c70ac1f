import { CommandError, type Context } from '../context.ts';
import type { Flag } from './verb.ts';

/** A secret that a verb takes with `--NAME VALUE`, or from standard input with `--NAME-stdin`. */
export interface SecretFlag {
  /** Without dashes: `upstream-key`. */
  readonly name: string;
  /** What to ask for on a terminal. */
  readonly prompt: string;
  readonly help: string;
}

export const flagsOf = ({ name, help }: SecretFlag): Flag[] => [
  { flags: `--${name} <${name}>`, help },
  {
    flags: `--${name}-stdin`,
    help: 'read it from standard input; a terminal is asked, and does not show it',
  },
];

/**
 * The secret that was given, if any. Whoever gives it as an argument at a terminal is told what
 * that means; scripts are not.
 * @throws CommandError
 */
export async function secretOf(
  { io }: Context,
  { name, prompt }: SecretFlag,
  given: string | undefined,
  fromStdin = false,
): Promise<string | undefined> {
  if (given !== undefined && fromStdin)
    throw new CommandError(`Give either --${name} or --${name}-stdin, not both.`);
  if (given !== undefined && io.isTerminal)
    io.err(`--${name} shows it to whoever lists processes, and keeps it in the shell's history.\n`);
  return fromStdin ? io.readSecret(prompt) : given;
}
