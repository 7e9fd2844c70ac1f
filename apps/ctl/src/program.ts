import { Command } from 'commander';
import { addDoctor } from './commands/doctor.ts';
import { addKey } from './commands/key.ts';
import { addMember } from './commands/member.ts';
import { addModel } from './commands/model.ts';
import { addOrg } from './commands/org.ts';
import { addPlan } from './commands/plan.ts';
import { addQueue } from './commands/queue.ts';
import { addRequest } from './commands/request.ts';
import { addSecrets } from './commands/secrets.ts';
import { addUsage } from './commands/usage.ts';
import type { Context } from './context.ts';

/** The command line: nouns with verbs. Parsing runs the chosen verb, or throws. */
export function createProgram(context: Context): Command {
  const program = new Command('ctl')
    .description('manages a Tidegate installation')
    .showHelpAfterError('Try --help.')
    .exitOverride()
    .configureOutput({ writeOut: context.io.out, writeErr: context.io.err });
  for (const add of [
    addOrg,
    addPlan,
    addMember,
    addKey,
    addModel,
    addUsage,
    addRequest,
    addQueue,
    addSecrets,
    addDoctor,
  ])
    add(program, context);
  return program;
}
