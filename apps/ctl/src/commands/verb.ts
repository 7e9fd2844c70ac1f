import type { Control, Result } from '@tidegate/control';
import type { Command, Option } from 'commander';
import { type Context, type Presentation, show } from '../context.ts';

/** The option of verbs that are about an organization. */
export interface Org {
  readonly org?: string;
}

/** Options that every verb takes. */
interface Common extends Org {
  readonly json: boolean;
}

export interface Flag {
  /** In commander's form: `--name <name>`. */
  readonly flags: string;
  readonly help: string;
  readonly required?: boolean;
  readonly parse?: (text: string) => unknown;
}

const ORG = 'the organization; may be left out when there is only one';

/**
 * Adds `NOUN VERB` with its flags. Every verb also takes `--org` and `--json`.
 *
 * @param org what `--org` is, for the help. Null: it has no meaning, and the help leaves it out
 */
export function verb<O extends object>(
  noun: Command,
  name: string,
  help: string,
  flags: readonly Flag[],
  run: (options: O & Common) => Promise<void>,
  org: string | null = ORG,
): void {
  const command = noun.command(name).description(help);
  command
    .addOption(once(command, command.createOption('--org <id or slug>', org ?? '').hideHelp(org === null)))
    .option('--json', 'print one JSON document and nothing else');
  const required = flags.flatMap(({ flags: text, help: about, required, parse }) => {
    const option = once(command, command.createOption(text, about), parse);
    command.addOption(option);
    return required ? [option] : [];
  });
  command.action((options: O & Partial<Common>) => {
    const given = command.opts();
    const missing = required.filter((option) => given[option.attributeName()] === undefined);
    const said = missing.map((option) => `error: required option '${option.flags}' not specified`);
    // Commander's own check names only the first.
    if (said.length > 0) command.error(said.join('\n'));
    return run({ ...options, json: options.json ?? false });
  });
}

/**
 * Makes an option take exactly one value. Commander takes the last of several, and takes the next
 * option as the value if that is missing, as with an empty variable in a script.
 */
function once(command: Command, option: Option, parse = (text: string): unknown => text): Option {
  return option.argParser((text: string, before: unknown) => {
    // Not an InvalidArgumentError, which Commander prints with the value: it may be a password.
    if (before !== undefined) command.error(`error: option '${option.flags}' may be given only once`);
    if (command.options.some(({ long }) => long === text))
      command.error(`error: option '${option.flags}' needs a value, and ${text} is an option`);
    return parse(text);
  });
}

interface Operation<O, T> extends Omit<Presentation<T>, 'json'> {
  readonly name: string;
  readonly help: string;
  readonly flags?: readonly Flag[];
  /** See `verb`. */
  readonly org?: string | null;
  readonly run: (control: Control, options: O) => Promise<Result<T>>;
}

/** Adds `NOUN VERB` for one operation of control, whose result it shows. */
export function operation<O extends object, T>(
  noun: Command,
  context: Context,
  { name, help, flags = [], org, run, ...answer }: Operation<O, T>,
): void {
  const act = (options: O & Common) =>
    show(context, { ...answer, json: options.json }, (control) => run(control, options));
  verb<O>(noun, name, help, flags, act, org);
}

/** NaN for other text. Control refuses it and says what is allowed. */
export const toWhole = (text: string): number => (/^-?\d+$/.test(text) ? Number(text) : Number.NaN);

export const list = (text: string): string[] =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

/** Passes other text on. Control refuses it. */
export const yesNo = (text: string): boolean | string =>
  text === 'true' ? true : text === 'false' ? false : text;

/** Drops the members that are undefined. */
export function given<T extends object>(options: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never;
}
