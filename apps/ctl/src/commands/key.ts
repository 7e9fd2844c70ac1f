import type { CreatedKey, KeyView, MayCall } from '@tidegate/control';
import type { Command } from 'commander';
import { type Context, OPERATOR, show } from '../context.ts';
import { facts, table, time } from '../output/table.ts';
import { given, list, type Org, operation, toWhole, verb } from './verb.ts';

interface Texts {
  readonly mayCallText: (mayCall: MayCall) => string;
  readonly limitsText: (key: KeyView) => string;
}

/** Already loaded when there is a key to show. */
const texts = (): Promise<Texts> => import('@tidegate/control');

const named = ({ name, prefix }: KeyView): string => `${name} (${prefix}…)`;

const keyTable = (keys: readonly KeyView[], { mayCallText, limitsText }: Texts): string =>
  table(keys, [
    { title: 'Name', cell: named },
    { title: 'State', cell: (key) => key.state },
    { title: 'May call', cell: (key) => mayCallText(key.mayCall) },
    { title: 'Limits', cell: limitsText },
    { title: 'Last used', cell: (key) => time(key.lastUsedAt, 'Never') },
    {
      title: 'Expires',
      cell: (key) => (key.expiresAt ? time(key.expiresAt, '') : (key.expiresOn ?? 'Never')),
    },
    { title: 'Id', cell: (key) => key.id },
  ]);

const createdText = (key: CreatedKey, { mayCallText, limitsText }: Texts): string =>
  [
    facts([
      ['Name', key.name],
      ['May call', mayCallText(key.mayCall)],
      ['Limits', limitsText(key)],
      ['Expires', key.expiresOn ?? 'Never'],
      ['Id', key.id],
    ]),
    '',
    key.key,
    '',
    'Save it now. It is shown only once.',
  ].join('\n');

interface CreateFlags {
  readonly name: string;
  readonly models?: string[];
  readonly rpm?: number;
  readonly atOnce?: number;
  readonly expiresOn?: string;
}

const createFlags = [
  { flags: '--name <name>', help: 'labels the key in lists and usage, 1 to 80 characters', required: true },
  { flags: '--models <a,b>', help: 'models it may call (default: all, including later ones)', parse: list },
  { flags: '--rpm <n>', help: 'requests a minute, 1 to 6,000 (default 60)', parse: toWhole },
  { flags: '--at-once <n>', help: 'requests at once, 1 to 256 (default 4)', parse: toWhole },
  { flags: '--expires-on <YYYY-MM-DD>', help: 'last day (UTC) on which it works (default: never expires)' },
];

const id = { flags: '--id <id>', help: 'id of the key', required: true };
interface OneKey extends Org {
  readonly id: string;
}

export function addKeyCommand(program: Command, context: Context): void {
  const noun = program.command('key').description('API keys');
  verb<CreateFlags>(noun, 'create', 'create a key; its value is shown once', createFlags, async (options) => {
    const { org, json, name, models, expiresOn } = options;
    const { rpm: requestsPerMinute, atOnce: requestsAtOnce } = options;
    const input = { name, ...given({ org, models, requestsPerMinute, requestsAtOnce, expiresOn }) };
    const words = json ? undefined : await texts();
    const human = (key: CreatedKey) => (words ? createdText(key, words) : '');
    await show(context, { json, human }, (control) => control.createKey(OPERATOR, input));
  });
  verb(noun, 'list', 'list the keys, including revoked ones', [], async ({ org, json }) => {
    const words = await texts();
    const human = (keys: KeyView[]) => keyTable(keys, words);
    await show(context, { json, human }, (control) => control.listKeys(OPERATOR, given({ org })));
  });
  operation(noun, context, {
    name: 'revoke',
    help: 'refuse a key from now on, for good',
    flags: [id],
    run: (control, { org, id }: OneKey) => control.revokeKey(OPERATOR, { id, ...given({ org }) }),
    human: (key) => `${named(key)} is revoked and refused from now on.`,
  });
  operation(noun, context, {
    name: 'delete',
    help: 'remove a revoked key from the list; its usage stays',
    flags: [id],
    run: (control, { org, id }: OneKey) => control.deleteKey(OPERATOR, { id, ...given({ org }) }),
    human: (key) => `${named(key)} is deleted; its usage stays.`,
  });
}
