import type { Command } from 'commander';

/** Options that every verb takes. */
export interface Common {
  readonly org?: string;
  readonly json?: boolean;
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
  command.action((options: O & Common) => run(options));
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
