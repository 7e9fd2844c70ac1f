import type { Control, Result } from '@tidegate/control';
import type { Command } from 'commander';
import { type Answer, type Context, show } from '../context.ts';

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

/** Adds `NOUN VERB` with its flags. Every verb also takes `--org` and `--json`. */
export function verb<O extends object>(
  noun: Command,
  name: string,
  help: string,
  flags: readonly Flag[],
  run: (options: O & Common) => Promise<void>,
): void {
  const command = noun
    .command(name)
    .description(help)
    .option('--org <id or slug>', 'the organization; may be left out when there is only one')
    .option('--json', 'print one JSON document and nothing else');
  for (const { flags: text, help: about, required, parse } of flags) {
    const option = command.createOption(text, about).makeOptionMandatory(required ?? false);
    command.addOption(parse ? option.argParser(parse) : option);
  }
  command.action((options: O & Partial<Common>) => run({ ...options, json: options.json ?? false }));
}

interface Operation<O, T> extends Omit<Answer<T>, 'json'> {
  readonly name: string;
  readonly help: string;
  readonly flags?: readonly Flag[];
  readonly run: (control: Control, options: O) => Promise<Result<T>>;
}

/** Adds `NOUN VERB` for one operation of control, whose result it shows. */
export function operation<O extends object, T>(
  noun: Command,
  context: Context,
  { name, help, flags = [], run, ...answer }: Operation<O, T>,
): void {
  verb<O>(noun, name, help, flags, (options) =>
    show(context, { ...answer, json: options.json }, (control) => run(control, options)),
  );
}

/** NaN for other text. Control refuses it and says what is allowed. */
export const whole = (text: string): number => (/^-?\d+$/.test(text) ? Number(text) : Number.NaN);

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
