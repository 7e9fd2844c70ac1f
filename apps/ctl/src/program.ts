import { createRequire } from 'node:module';
import { Command } from 'commander';
import { addAudit } from './commands/audit.ts';
import { addBootstrap } from './commands/bootstrap.ts';
import { addDoctor } from './commands/doctor.ts';
import { addKey } from './commands/key.ts';
import { addMember } from './commands/member.ts';
import { addModel } from './commands/model.ts';
import { addOrg } from './commands/org.ts';
import { addPlan } from './commands/plan.ts';
import { addPool } from './commands/pool.ts';
import { addQueue } from './commands/queue.ts';
import { addRefusal } from './commands/refusal.ts';
import { addRequest } from './commands/request.ts';
import { addSecrets } from './commands/secrets.ts';
import { addUsage } from './commands/usage.ts';
import type { Context } from './context.ts';

/** The release's: all workspaces have the same. */
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
    addBootstrap,
    addOrg,
    addPlan,
    addPool,
    addMember,
    addKey,
    addModel,
    addUsage,
    addRequest,
    addRefusal,
    addAudit,
    addQueue,
    addSecrets,
    addDoctor,
  ])
    add(program, context);
  addHelp(program);
  return program;
}

/** Commander's own help says nothing of a name that is no command: it prints all the usage. */
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
