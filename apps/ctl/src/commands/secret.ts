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
    help: 'read it from standard input; at a terminal, ask for it without showing it',
  },
];

/**
 * The secret that was given, if any. If it is an argument, stderr says who can see it there, and
 * how to give it instead.
 * @throws CommandError
 */
export async function secretGiven(
  { io }: Context,
  { name, prompt }: SecretFlag,
  given: string | undefined,
  fromStdin = false,
): Promise<string | undefined> {
  if (given !== undefined && fromStdin)
    throw new CommandError(`Give either --${name} or --${name}-stdin, not both.`);
  // An empty value removes the secret, so there is nothing to warn of.
  if (given)
    io.err(
      `Other users of this machine can see the value of --${name} in its list of processes. Use --${name}-stdin, which reads it from standard input or asks for it.\n`,
    );
  return fromStdin ? io.readSecret(prompt) : given;
}
