import type { FoundRequest, RequestPage, RequestView } from '@tidegate/control';
import type { Command } from 'commander';
import { type Context, OPERATOR, show } from '../context.ts';
import { type Column, facts, table } from '../output/table.ts';
import { keyText, milliseconds, modelText, NONE } from '../output/values.ts';
import { listMatching } from './request-filter.ts';
import { given, type Org, operation, toWhole, verb } from './verb.ts';

const tokens = (tokensOf: number | null): string | number => tokensOf ?? NONE;
const moment = (iso: string): string => `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;

const columns: Column<RequestView>[] = [
  { title: 'Time', cell: (request) => moment(request.at) },
  { title: 'Key', cell: keyText },
  { title: 'Model', cell: modelText },
  { title: 'Status', cell: (request) => request.status ?? NONE },
  { title: 'Code', cell: (request) => request.code ?? NONE },
  { title: 'Tokens in', cell: (request) => tokens(request.promptTokens) },
  { title: 'Tokens out', cell: (request) => tokens(request.completionTokens) },
  { title: 'Time taken', cell: (request) => milliseconds(request.durationMs) },
  { title: 'First chunk', cell: (request) => milliseconds(request.firstChunkMs) },
  { title: 'Id', cell: (request) => request.id },
];

const pageText = ({ requests, next }: RequestPage): string =>
  table(requests, columns) + (next === null ? '' : `\n\nOlder ones: --before ${next}`);

const STATES = {
  open: 'open: in progress',
  queued: 'queued: ended; metering has not written it yet',
  settled: 'settled: in the usage',
} as const;

function foundText({ id, state, request }: FoundRequest): string {
  const found: [string, string | number][] = [
    ['Id', id],
    ['State', STATES[state]],
  ];
  if (!request) return facts(found);
  return facts([
    ...found,
    ['Counted', moment(request.at)],
    ['Key', keyText(request)],
    ['Model', modelText(request)],
    ['Ended', request.answered ? 'answered' : `error ${request.code}`],
    ['Status', request.status ?? NONE],
    ['Streamed', request.streamed ? 'yes' : 'no'],
    ['Tokens in', tokens(request.promptTokens)],
    ['Tokens out', tokens(request.completionTokens)],
    ['Charged', request.chargedTokens],
    ['Time taken', milliseconds(request.durationMs)],
    ['First chunk', milliseconds(request.firstChunkMs)],
  ]);
}

interface ListOptions {
  readonly key?: string;
  readonly model?: string;
  readonly outcome?: string;
  readonly from?: string;
  readonly to?: string;
  readonly before?: string;
  readonly limit?: number;
}

export function addRequestCommand(program: Command, context: Context): void {
  const noun = program.command('request').description('counted requests of the last 35 days');
  verb<ListOptions>(
    noun,
    'list',
    'list requests, newest first',
    [
      { flags: '--key <id>', help: 'only of this key' },
      { flags: '--model <id>', help: 'only of this model' },
      { flags: '--outcome <o>', help: 'only answered, errors, or an error code' },
      { flags: '--from <time>', help: 'from this UTC time: YYYY-MM-DDTHH:MM, or a day' },
      { flags: '--to <time>', help: 'before this UTC time, or to the end of a day' },
      { flags: '--before <next>', help: 'continue from here: the `next` of the page before' },
      { flags: '--limit <n>', help: 'at most this many, up to 200 (default 50)', parse: toWhole },
    ],
    ({ org, key, model, outcome, from, to, before, limit, json }) =>
      show(context, { json, human: pageText }, (control) =>
        listMatching(
          control,
          given({ org, keyId: key, modelId: model, outcome, from, to, before, limit }),
          (text) => context.io.err(`${text}\n`),
        ),
      ),
  );
  operation(noun, context, {
    name: 'show',
    help: 'find a request, even one that is still on its way into the usage',
    flags: [{ flags: '--id <id>', help: "the answer's x-request-id", required: true }],
    run: (control, { org, id }: Org & { id: string }) => control.showRequest(OPERATOR, given({ org, id })),
    human: foundText,
  });
}
