import { createRequire } from 'node:module';
import { Command } from 'commander';
import { addAuditCommand } from './commands/audit.ts';
import { addBootstrapCommand } from './commands/bootstrap.ts';
import { addDoctorCommand } from './commands/doctor.ts';
import { addKeyCommand } from './commands/key.ts';
import { addMemberCommand } from './commands/member.ts';
import { addModelCommand } from './commands/model.ts';
import { addOrgCommand } from './commands/org.ts';
import { addPlanCommand } from './commands/plan.ts';
import { addPoolCommand } from './commands/pool.ts';
import { addQueueCommand } from './commands/queue.ts';
import { addRefusalCommand } from './commands/refusal.ts';
import { addRequestCommand } from './commands/request.ts';
import { addSecretsCommand } from './commands/secrets.ts';
import { addUsageCommand } from './commands/usage.ts';
import type { Context } from './context.ts';

/** The version of the release: all workspaces have the same. */
const { version } = createRequire(import.meta.url)('../package.json') as { version: string };

/** The command line: nouns with verbs. Parsing runs the chosen verb, or throws. */
export function createProgram(context: Context): Command {
  const program = new Command('ctl')
    .description('manages a Tidegate installation')
    .version(version)
    .showHelpAfterError('Try --help.')
    .exitOverride()
    .configureOutput({ writeOut: context.io.out, writeErr: context.io.err });
  for (const add of [
    addBootstrapCommand,
    addOrgCommand,
    addPlanCommand,
    addPoolCommand,
    addMemberCommand,
    addKeyCommand,
    addModelCommand,
    addUsageCommand,
    addRequestCommand,
    addRefusalCommand,
    addAuditCommand,
    addQueueCommand,
    addSecretsCommand,
    addDoctorCommand,
  ])
    add(program, context);
  addHelp(program);
  return program;
}

/**
 * For a name that is no command, Commander's own help reports no error, but prints the whole usage.
 */
function addHelp(command: Command): void {
  if (command.commands.length === 0) return;
  command.commands.forEach(addHelp);
  command
    .helpCommand(false)
    .command('help [command...]')
    .description('display help for a command')
    .action((names: readonly string[]) => {
      let about = command;
      for (const name of names) {
        const found = about.commands.find((one) => one.name() === name);
        if (!found) return about.error(`error: unknown command '${name}'`);
        about = found;
      }
      about.help();
    });
}
