// @ts-check
/* Prints the nouns, verbs and flags of the built ctl as JSON, without help. No verb runs. */
const { createProgram } = await import(new URL('../../apps/ctl/dist/program.js', import.meta.url).href);

/**
 * @typedef {{ flags: string[], verbs: Record<string, Command> }} Command
 * @returns {Command}
 */
const commandOf = (/** @type {any} */ { options, commands }) => ({
  flags: options.map((/** @type {any} */ { long }) => long),
  verbs: Object.fromEntries(
    commands
      .map((/** @type {any} */ command) => [command.name(), commandOf(command)])
      .filter(([/** @type {string} */ name]) => name !== 'help'),
  ),
});

process.stdout.write(JSON.stringify(commandOf(createProgram({ io: {} }))));
