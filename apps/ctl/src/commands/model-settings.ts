import type {
  ChangeModelInput,
  Control,
  ModelChange,
  ModelCheck,
  PublishModelInput,
  Result,
} from '@tidegate/control';
import type { Command } from 'commander';
import { type Context, OPERATOR, show } from '../context.ts';
import { one } from './model-text.ts';
import { flagsOf, secretGiven } from './secret.ts';
import { given, list, toWhole, verb, yesNo } from './verb.ts';

const warning = (model: ModelChange): string | undefined =>
  model.runnerReached
    ? undefined
    : 'Saved, but the runner could not be reached. It will read the change when it is back.';

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
  readonly anyway?: boolean;
}

const upstreamKeyFlag = {
  name: 'upstream-key',
  prompt: 'Upstream key',
  help: 'bearer token for the server; stored encrypted',
};
export const nameFlag = { flags: '--name <name>', help: 'name of the model', required: true };
const startTimeoutFlag = {
  flags: '--start-timeout <seconds>',
  help: 'time for a command or a workload to become ready (default 600)',
  parse: toWhole,
};
const publishFlags = [
  nameFlag,
  { flags: '--kind <kind>', help: 'text or vision', required: true },
  { flags: '--mode <mode>', help: 'always_on or wake_on_request', required: true },
  { flags: '--context <tokens>', help: 'the context length that it serves', required: true, parse: toWhole },
  { flags: '--url <urls>', help: 'servers that someone else runs, comma-separated', parse: list },
  { flags: '--command <command>', help: 'the command that starts it; $PORT is replaced' },
  {
    flags: '--kubernetes <workload>',
    help: 'a Deployment or StatefulSet to scale: namespace/name, namespace/statefulset/name',
  },
  {
    flags: '--service <name>',
    help: "the workload's Service, or name:port (default: named like the workload)",
  },
  {
    flags: '--replicas <count>',
    help: 'how many replicas a workload is scaled to when it starts (default 1)',
    parse: toWhole,
  },
  {
    flags: '--health-path <path>',
    help: 'path that tells whether it is ready (default for a command: /health); its list of models may then be incomplete or missing',
  },
  startTimeoutFlag,
  { flags: '--upstream-model <name>', help: 'its name on the server' },
  ...flagsOf(upstreamKeyFlag),
  { flags: '--sleep-after <seconds>', help: 'idle time before it sleeps (default 600)', parse: toWhole },
  { flags: '--pool <pool>', help: 'the pool of runners that it belongs to (default local)' },
  {
    flags: '--cost <n>',
    help: "how much of its pool's capacity it takes while it runs (default 0)",
    parse: toWhole,
  },
  { flags: '--pinned <true|false>', help: 'never put it to sleep to make room', parse: yesNo },
  {
    flags: '--anyway',
    help: 'publish a workload even if its Service is missing or it cannot be checked now',
  },
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
    anyway: flags.anyway,
  }),
});

/** Asks the servers of a model that is to be published. Null: it is not at URLs. */
async function checkPublished(
  control: Control,
  { org, urls, name, upstreamModel, upstreamKey, healthPath, contextTokens, pool }: PublishModelInput,
): Promise<Result<ModelCheck | null>> {
  if (urls === undefined) return { ok: true, value: null };
  const asked = given({ org, name, upstreamModel, upstreamKey, healthPath, contextTokens, pool });
  return control.checkModel(OPERATOR, { urls, ...asked });
}

/**
 * Says on stderr what the servers of a published or changed model answered. No answer prevents the
 * change, because servers may come later. A refusal of the change stands alone.
 */
function tellFound<T>({ io }: Context, found: Result<ModelCheck | null>, result: Result<T>): Result<T> {
  if (!result.ok) return result;
  if (!found.ok) io.err(`Warning: ${found.refusal.message}\n`);
  else
    for (const { url, problem, text } of found.value?.findings ?? [])
      io.err(`${problem ? 'Warning: ' : ''}${url}: ${text}\n`);
  return result;
}

type ChangeFlags = Pick<PublishFlags, 'name'> &
  Partial<Omit<PublishFlags, 'name' | 'kind' | 'mode' | 'kubernetes' | 'anyway' | 'startTimeout'>> & {
    readonly startTimeout?: number | '';
  };

const PUBLISH_ONLY = new Set(['--kind', '--mode', '--kubernetes', '--anyway']);
/** Keeps an empty text, because Commander does not let a flag be null. */
const wholeOrEmpty = (text: string): number | '' => (text === '' ? '' : toWhole(text));
const changeFlags = publishFlags
  .filter(({ flags }) => !PUBLISH_ONLY.has(flags.split(' ')[0] ?? ''))
  .map((flag) => {
    if (flag === nameFlag) return flag;
    // The only number that a model can be without.
    return flag === startTimeoutFlag ? { ...flag, parse: wholeOrEmpty } : { ...flag, required: false };
  });

/** An empty text removes a setting. */
const orNone = <T extends string | number>(value: T | '' | undefined): T | null | undefined =>
  value === '' ? null : value;

const changeInput = (
  org: string | undefined,
  flags: ChangeFlags,
  upstreamKey: string | undefined,
): ChangeModelInput => ({
  name: flags.name,
  ...given({
    org,
    contextTokens: flags.context,
    urls: flags.url,
    command: flags.command,
    service: flags.service,
    replicas: flags.replicas,
    healthPath: orNone(flags.healthPath),
    startTimeoutS: orNone(flags.startTimeout),
    upstreamModel: orNone(flags.upstreamModel),
    upstreamKey: orNone(upstreamKey),
    sleepAfterS: flags.sleepAfter,
    pool: flags.pool,
    cost: flags.cost,
    pinned: flags.pinned,
  }),
});

export function addPublishCommand(noun: Command, context: Context): void {
  verb<PublishFlags>(noun, 'publish', 'publish a model', publishFlags, async ({ org, json, ...flags }) => {
    const upstreamKey = await secretGiven(
      context,
      upstreamKeyFlag,
      flags.upstreamKey,
      flags.upstreamKeyStdin,
    );
    const input = publishInput(org, flags, upstreamKey);
    await show(context, { json, human: one, warning }, async (control) => {
      const found = await checkPublished(control, input);
      return tellFound(context, found, await control.publishModel(OPERATOR, input));
    });
  });
}

export function addSetCommand(noun: Command, context: Context): void {
  const help = 'change settings of a published model; what is not given stays, and "" removes a setting';
  verb<ChangeFlags>(noun, 'set', help, changeFlags, async ({ org, json, ...flags }) => {
    // An empty key removes the stored one, and is no secret.
    const upstreamKey =
      flags.upstreamKey === '' && !flags.upstreamKeyStdin
        ? ''
        : await secretGiven(context, upstreamKeyFlag, flags.upstreamKey, flags.upstreamKeyStdin);
    const input = changeInput(org, flags, upstreamKey);
    await show(context, { json, human: one, warning }, async (control) => {
      const found = await control.checkChange(OPERATOR, input);
      return tellFound(context, found, await control.changeModel(OPERATOR, input));
    });
  });
}
