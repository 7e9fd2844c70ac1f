import {
  type Control,
  type DiscoverOptions,
  discoverServers,
  type FoundModel,
  type FoundServer,
  lackOf,
  USUAL_PORTS,
} from '@tidegate/control';
import type { Command } from 'commander';
import { CommandError, type Context, OPERATOR, print } from '../context.ts';
import { type Column, countText, table } from '../output/table.ts';
import { given, list, toWhole, verb } from './verb.ts';

/** A model that was found. With `--publish`, also whether it was published. */
interface Row extends FoundModel {
  readonly published?: boolean;
  /** Why it was not published. */
  readonly reason?: string;
}
interface Discovered extends FoundServer {
  readonly models: readonly Row[];
}

interface DiscoverFlags {
  readonly publish?: boolean;
  readonly ports?: readonly number[];
}

const ASSUMED =
  '(assumed): the server does not report its context length. If it is different, publish that model with `model publish --context N`.';
const MAX_PORT = 65_535;
const flags = [
  {
    flags: '--publish',
    help: 'publish what is found and not yet published; existing names are left alone',
  },
  {
    flags: '--ports <ports>',
    help: `ports of 127.0.0.1, comma-separated (default ${USUAL_PORTS.join(',')})`,
    parse: (text: string) => list(text).map(toWhole),
  },
];

type Line = Row & { readonly server: string; readonly version?: string; readonly url: string };
const columns: Column<Line>[] = [
  { title: 'Server', cell: ({ server, version }) => (version ? `${server} ${version}` : server) },
  { title: 'URL', cell: (line) => line.url },
  { title: 'Model', cell: (line) => line.upstreamModel },
  { title: 'Name', cell: (line) => line.name },
  { title: 'Kind', cell: (line) => line.kind },
  {
    title: 'Context',
    cell: (line) => countText(line.contextTokens) + (line.contextAssumed ? ' (assumed)' : ''),
  },
];
const outcome: Column<Line> = {
  title: 'Published',
  cell: ({ published, reason }) => (published ? 'yes' : `no: ${reason}`),
};

export function addDiscoverCommand(noun: Command, context: Context): void {
  verb<DiscoverFlags>(
    noun,
    'discover',
    'find model servers on this machine: Ollama, llama.cpp, vLLM, SGLang, LM Studio',
    flags,
    async ({ publish = false, ports, org, json }) => {
      const options: DiscoverOptions = given({ ports: checked(ports), timeoutMs: context.waits.discoverMs });
      const found: Discovered[] = await discoverServers(options);
      const human = (servers: Discovered[]) => told(servers, { publish, ...given({ ports, org }) });
      const shown = publish ? await context.withControl((control) => publishAll(control, found, org)) : found;
      print(context.io, { json, human }, shown);
    },
  );
}

function checked(ports: readonly number[] | undefined): readonly number[] | undefined {
  if (ports?.every((port) => port >= 1 && port <= MAX_PORT) ?? true) return ports;
  throw new CommandError(`--ports must be ports from 1 to ${MAX_PORT}, comma-separated.`);
}

/**
 * Publishes one model after the other. If two models would have the same name, the first gets it.
 */
async function publishAll(
  control: Control,
  servers: readonly FoundServer[],
  org: string | undefined,
): Promise<Discovered[]> {
  const discovered: Discovered[] = [];
  for (const server of servers) {
    const models: Row[] = [];
    for (const model of server.models) {
      const result = await control.publishFound(OPERATOR, { server, model, ...given({ org }) });
      // This is about the organization, not the model, so every model would be refused.
      if (!result.ok && result.refusal.field === 'org') throw new CommandError(result.refusal.message);
      models.push(
        result.ok
          ? { ...model, published: true }
          : { ...model, published: false, reason: result.refusal.message },
      );
    }
    discovered.push({ ...server, models });
  }
  return discovered;
}

function told(
  servers: readonly Discovered[],
  { publish, ports, org }: DiscoverFlags & { readonly org?: string },
): string {
  const lines = servers.flatMap(({ server, version, url, models }) =>
    models.map((model) => ({ server, ...given({ version }), url, ...model })),
  );
  if (servers.length === 0)
    return `No model server on this machine answers at these ports: ${(ports ?? USUAL_PORTS).join(', ')}.`;
  const assumed = lines.some(({ contextAssumed }) => contextAssumed);
  const same = `${org === undefined ? '' : ` --org ${org}`}${ports ? ` --ports ${ports.join(',')}` : ''}`;
  const notes = [
    ...(assumed ? [ASSUMED] : []),
    ...servers.flatMap((server) => lackOf(server) ?? []),
    ...(publish || lines.length === 0 ? [] : [`Publish all of them: model discover --publish${same}`]),
  ];
  const shown = lines.length === 0 ? [] : [table(lines, publish ? [...columns, outcome] : columns)];
  return [...shown, ...notes].join('\n\n');
}
