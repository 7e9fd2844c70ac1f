import type { DeletedModelView } from '@tidegate/control';
import type { Command } from 'commander';
import { type Context, OPERATOR } from '../context.ts';
import { addDiscover } from './discover.ts';
import { addPublish, addSet, nameFlag } from './model-settings.ts';
import { listed, one } from './model-text.ts';
import { given, type Org, operation } from './verb.ts';

const untold = ({ runnerTold }: DeletedModelView): string | undefined =>
  runnerTold ? undefined : 'The runner could not be reached: it ends the model once it is back.';

interface OneModel extends Org {
  readonly name: string;
}

const modelOf = ({ org, name }: OneModel) => ({ name, ...given({ org }) });

export function addModel(program: Command, context: Context): void {
  const noun = program.command('model').description('published models');
  addPublish(noun, context);
  addSet(noun, context);
  addDiscover(noun, context);
  operation(noun, context, {
    name: 'list',
    help: 'list the published models',
    run: (control, { org }: Org) => control.listModels(OPERATOR, given({ org })),
    human: listed,
  });
  operation(noun, context, {
    name: 'start',
    help: 'start a stopped model',
    flags: [nameFlag],
    run: (control, which: OneModel) => control.startModel(OPERATOR, modelOf(which)),
    human: one,
  });
  operation(noun, context, {
    name: 'stop',
    help: 'stop a model',
    flags: [nameFlag],
    run: (control, which: OneModel) => control.stopModel(OPERATOR, modelOf(which)),
    human: one,
  });
  operation(noun, context, {
    name: 'delete',
    help: 'take a model out of service',
    flags: [nameFlag],
    run: (control, which: OneModel) => control.deleteModel(OPERATOR, modelOf(which)),
    human: ({ name }) => `${name} is deleted; its usage stays.`,
    warning: untold,
  });
}
