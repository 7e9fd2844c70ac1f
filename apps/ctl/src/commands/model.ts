import type {
  ChangeModelInput,
  Control,
  DeletedModelView,
  ListedModelView,
  ModelChange,
  ModelNow,
  PublishModelInput,
} from '@tidegate/control';
import type { Command } from 'commander';
import { type Context, OPERATOR, show } from '../context.ts';
import { type Column, table } from '../output/table.ts';
import { addDiscover } from './discover.ts';
import { flagsOf, secretOf } from './secret.ts';
import { given, list, verb, whole, yesNo } from './verb.ts';

/** The first line of a reason says why. The lines below are what the model's process printed. */
const why = (reason: string): string => reason.split('\n', 1)[0] ?? '';
const printedBy = (reason: string | null): string[] => reason?.split('\n').slice(1) ?? [];

/** A condition, and how many replicas of several can be called. */
const conditionOf = ({ condition, conditionReason, replicas }: ModelNow) =>
  condition +
  (replicas ? ` (${replicas.up} of ${replicas.total} up)` : '') +
  (conditionReason ? ` (${why(conditionReason)})` : '');

const columns: Column<ModelNow>[] = [
  { title: 'Name', cell: (model) => model.name },
  { title: 'Kind', cell: (model) => model.kind },
  { title: 'Mode', cell: (model) => model.mode },
  { title: 'Context', cell: (model) => model.contextTokens },
  { title: 'Driver', cell: (model) => model.driver },
  { title: 'Pool', cell: (model) => model.pool },
  { title: 'Condition', cell: conditionOf },
  { title: 'Id', cell: (model) => model.id },
];
/** The count comes before the id, which is last in every table. */
const listColumns: Column<ListedModelView>[] = [
  ...columns.slice(0, -1),
  { title: 'In flight', cell: ({ inFlight }) => inFlight ?? 'unknown' },
  ...columns.slice(-1),
];
/** The table. Below it are the last lines of processes that could not be started. */
const listing = <T extends ModelNow>(models: readonly T[], shown: readonly Column<T>[]): string =>
  [
    table(models, shown),
    ...models
      .filter(({ conditionReason }) => printedBy(conditionReason).length > 0)
      .map(({ name, conditionReason }) =>
        [`${name} printed:`, ...printedBy(conditionReason).map((line) => `  ${line}`)].join('\n'),
      ),
  ].join('\n\n');
const one = (model: ModelNow): string => listing([model], columns);
const warning = (model: ModelChange): string | undefined =>
  model.runnerTold
    ? undefined
    : 'Saved, but the runner could not be reached. It reads the change when it is back.';
const untold = ({ runnerTold }: DeletedModelView): string | undefined =>
  runnerTold ? undefined : 'The runner could not be reached: it ends the model once it is back.';

interface PublishFlags {
  readonly name: string;
  readonly kind: PublishModelInput['kind'];
  readonly mode: PublishModelInput['mode'];
  readonly context: number;
  readonly url?: string[];
  readonly command?: string;
  readonly kubernetes?: string;
  readonly service?: string;
  readonly replicas?: number;
  readonly healthPath?: string;
  readonly startTimeout?: number;
  readonly upstreamModel?: string;
  readonly upstreamKey?: string;
  readonly upstreamKeyStdin?: boolean;
  readonly sleepAfter?: number;
  readonly pool?: string;
  readonly cost?: number;
  readonly pinned?: boolean;
}

const upstreamKeyFlag = {
  name: 'upstream-key',
  prompt: 'Upstream key',
  help: 'bearer token for the server; stored encrypted',
};
const name = { flags: '--name <name>', help: 'name of the model', required: true };
const publishFlags = [
  name,
  { flags: '--kind <kind>', help: 'text or vision', required: true },
  { flags: '--mode <mode>', help: 'always_on or wake_on_request', required: true },
  { flags: '--context <tokens>', help: 'the context length that it serves', required: true, parse: whole },
  { flags: '--url <urls>', help: 'servers that someone else runs, comma-separated', parse: list },
  { flags: '--command <command>', help: 'the command that starts it; $PORT is replaced' },
  {
    flags: '--kubernetes <workload>',
    help: 'a Deployment or StatefulSet to scale: namespace/name, namespace/statefulset/name',
  },
  {
    flags: '--service <name>',
    help: "the workload's Service, or name:port (default: called like the workload)",
  },
  {
    flags: '--replicas <count>',
    help: 'what a workload is scaled to when it starts (default 1)',
    parse: whole,
  },
  {
    flags: '--health-path <path>',
    help: 'probed until a command is ready (default /health); otherwise: probed instead of the list of models',
  },
  {
    flags: '--start-timeout <seconds>',
    help: 'time for a command or a workload to become ready (default 600)',
    parse: whole,
  },
  { flags: '--upstream-model <name>', help: 'its name on the server' },
  ...flagsOf(upstreamKeyFlag),
  { flags: '--sleep-after <seconds>', help: 'idle time before it sleeps (default 600)', parse: whole },
  { flags: '--pool <pool>', help: 'the pool of runners that it belongs to (default local)' },
  {
    flags: '--cost <n>',
    help: "what it takes of its pool's capacity while it runs (default 0)",
    parse: whole,
  },
  { flags: '--pinned <true|false>', help: 'never put it to sleep to make room', parse: yesNo },
];

const publishInput = (
  org: string | undefined,
  flags: PublishFlags,
  upstreamKey: string | undefined,
): PublishModelInput => ({
  name: flags.name,
  kind: flags.kind,
  mode: flags.mode,
  contextTokens: flags.context,
  ...given({
    org,
    urls: flags.url,
    command: flags.command,
    kubernetes: flags.kubernetes,
    service: flags.service,
    replicas: flags.replicas,
    healthPath: flags.healthPath,
    startTimeoutS: flags.startTimeout,
    upstreamModel: flags.upstreamModel,
    upstreamKey,
    sleepAfterS: flags.sleepAfter,
    pool: flags.pool,
    cost: flags.cost,
    pinned: flags.pinned,
  }),
});

/**
 * Says on stderr what the servers of a model that is to be published answer. It is published either
 * way: its servers may come later.
 */
async function tellFound(
  { io }: Context,
  control: Control,
  { org, urls, name, upstreamModel, upstreamKey, contextTokens }: PublishModelInput,
): Promise<void> {
  if (urls === undefined) return;
  const asked = given({ org, name, upstreamModel, upstreamKey, contextTokens });
  const found = await control.checkModel(OPERATOR, { urls, ...asked });
  // Publishing says what is wrong with the input, or with the installation.
  if (!found.ok) return;
  for (const { url, problem, text } of found.value.told)
    io.err(`${problem ? 'Warning: ' : ''}${url}: ${text}\n`);
}

type ChangeFlags = Pick<PublishFlags, 'name'> &
  Partial<Omit<PublishFlags, 'name' | 'kind' | 'mode' | 'kubernetes'>>;

const PUBLISH_ONLY = new Set(['--kind', '--mode', '--kubernetes']);
const changeFlags = publishFlags
  .filter(({ flags }) => !PUBLISH_ONLY.has(flags.split(' ')[0] ?? ''))
  .map((flag) => (flag === name ? flag : { ...flag, required: false }));

/** An empty text takes a setting away. */
const orNone = (value: string | undefined): string | null | undefined => (value === '' ? null : value);

const changeInput = (org: string | undefined, flags: ChangeFlags): ChangeModelInput => ({
  name: flags.name,
  ...given({
    org,
    contextTokens: flags.context,
    urls: flags.url,
    command: flags.command,
    service: flags.service,
    replicas: flags.replicas,
    healthPath: orNone(flags.healthPath),
    startTimeoutS: flags.startTimeout,
    upstreamModel: orNone(flags.upstreamModel),
    upstreamKey: orNone(flags.upstreamKey),
    sleepAfterS: flags.sleepAfter,
    pool: flags.pool,
    cost: flags.cost,
    pinned: flags.pinned,
  }),
});

export function addModel(program: Command, context: Context): void {
  const noun = program.command('model').description('published models');
  verb<PublishFlags>(
    noun,
    'publish',
    'publish a model',
    publishFlags,
    async ({ org, json = false, ...flags }) => {
      const { upstreamKey: given, upstreamKeyStdin } = flags;
      const upstreamKey = await secretOf(context, upstreamKeyFlag, given, upstreamKeyStdin);
      const input = publishInput(org, flags, upstreamKey);
      await show(context, { json, human: one, warning }, async (control) => {
        if (!json) await tellFound(context, control, input);
        return control.publishModel(OPERATOR, input);
      });
    },
  );
  verb<ChangeFlags>(
    noun,
    'set',
    'change settings of a published model; what is not given stays, and "" takes a setting away',
    changeFlags,
    ({ org, json = false, ...flags }) =>
      show(context, { json, human: one, warning }, (control) =>
        control.changeModel(OPERATOR, changeInput(org, flags)),
      ),
  );
  addDiscover(noun, context);
  verb(noun, 'list', 'list the published models', [], ({ org, json = false }) =>
    show(context, { json, human: (models: ListedModelView[]) => listing(models, listColumns) }, (control) =>
      control.listModels(OPERATOR, given({ org })),
    ),
  );
  verb<{ name: string }>(noun, 'start', 'start a stopped model', [name], ({ org, json = false, ...which }) =>
    show(context, { json, human: one }, (control) =>
      control.startModel(OPERATOR, { name: which.name, ...given({ org }) }),
    ),
  );
  verb<{ name: string }>(noun, 'stop', 'stop a model', [name], ({ org, json = false, ...which }) =>
    show(context, { json, human: one }, (control) =>
      control.stopModel(OPERATOR, { name: which.name, ...given({ org }) }),
    ),
  );
  verb<{ name: string }>(
    noun,
    'delete',
    'take a model out of service',
    [name],
    ({ org, json = false, ...which }) =>
      show(
        context,
        {
          json,
          human: (model: DeletedModelView) => `${model.name} is deleted; its usage stays.`,
          warning: untold,
        },
        (control) => control.deleteModel(OPERATOR, { name: which.name, ...given({ org }) }),
      ),
  );
}
