import type { Control, DeletedModelView, ModelDetail, ModelNow, Result } from '@tidegate/control';
import type { Command } from 'commander';
import { type Context, OPERATOR } from '../context.ts';
import { addDiscoverCommand } from './discover.ts';
import { detailText } from './model-detail.ts';
import { addPublishCommand, addSetCommand, nameFlag } from './model-settings.ts';
import { listed, one } from './model-text.ts';
import { given, type Org, operation } from './verb.ts';

const notReached = ({ runnerReached }: DeletedModelView): string | undefined =>
  runnerReached ? undefined : 'The runner could not be reached: it will end the model once it is back.';

interface OneModel extends Org {
  readonly name: string;
}

const modelOf = ({ org, name }: OneModel) => ({ name, ...given({ org }) });

interface StoppedModel extends ModelNow {
  /** Answers in progress that end as errors, because the model's process ends. Null: not known. */
  readonly cutOff: number | null;
}

async function stop(control: Control, which: OneModel): Promise<Result<StoppedModel>> {
  const before = await control.showModel(OPERATOR, modelOf(which));
  const now = await control.stopModel(OPERATOR, modelOf(which));
  if (!now.ok) return now;
  return { ok: true, value: { ...now.value, cutOff: before.ok ? cutOffBy(before.value) : null } };
}

/** Requests in flight for a model that does not run wait for it. They are refused, not charged. */
const cutOffBy = ({ driver, condition, inFlight }: ModelDetail): number | null =>
  driver === 'external' || condition !== 'running' ? 0 : inFlight;

function stopped({ cutOff, ...model }: StoppedModel): string {
  if (cutOff === 0) return one(model);
  const many = cutOff === null ? 'Answers in progress end as errors' : answers(cutOff);
  return `${one(model)}\n\n${many} (upstream_error), charged in full.`;
}
const answers = (count: number): string =>
  count === 1 ? '1 answer in progress ends as an error' : `${count} answers in progress end as errors`;

export function addModelCommand(program: Command, context: Context): void {
  const noun = program.command('model').description('published models');
  addPublishCommand(noun, context);
  addSetCommand(noun, context);
  addDiscoverCommand(noun, context);
  operation(noun, context, {
    name: 'list',
    help: 'list the published models',
    run: (control, { org }: Org) => control.listModels(OPERATOR, given({ org })),
    human: listed,
  });
  operation(noun, context, {
    name: 'show',
    help: 'show one model: where it runs, its settings, its condition and replicas, now and before',
    flags: [nameFlag],
    run: (control, which: OneModel) => control.showModel(OPERATOR, modelOf(which)),
    human: detailText,
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
    help: 'stop a model; answers in progress of a command or a workload end as errors',
    flags: [nameFlag],
    run: (control, which: OneModel) => stop(control, which),
    human: stopped,
  });
  operation(noun, context, {
    name: 'delete',
    help: 'delete a model; its usage stays',
    flags: [nameFlag],
    run: (control, which: OneModel) => control.deleteModel(OPERATOR, modelOf(which)),
    human: ({ name }) => `${name} is deleted; its usage stays.`,
    warning: notReached,
  });
}
