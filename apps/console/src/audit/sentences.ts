import type { AuditView } from '@tidegate/control';
import { whole } from '../ui/numbers.ts';
import { timeText } from '../ui/utc.ts';

const VERBS: Readonly<Record<string, string>> = {
  'org.create': 'Created the organization',
  'org.requireTwoFactor': 'Changed whether two-factor is required',
  'org.setPlan': 'Changed the plan',
  'plan.set': 'Changed the limits of the plan',
  'key.create': 'Created key',
  'key.revoke': 'Revoked key',
  'key.delete': 'Deleted key',
  'model.publish': 'Published model',
  'model.check': 'Tested servers for a model',
  'model.change': 'Changed model',
  'model.start': 'Asked to start model',
  'model.stop': 'Asked to stop model',
  'model.delete': 'Deleted model',
  'model.reseal': 'Re-encrypted the upstream key of',
  'pool.set': 'Changed the capacity of the pool',
  'member.add': 'Added member',
  'member.invite': 'Invited',
  'member.withdraw': 'Withdrew the invitation for',
  'member.join': 'Joined',
  'member.setRole': 'Changed the role of',
  'member.setPassword': 'Set the password of',
  'member.resetTwoFactor': 'Removed the second factor of',
  'member.resetIdentity': 'Removed the identity of',
  'member.remove': 'Removed member',
  'member.leave': 'Left',
  'account.delete': 'Deleted the account of',
  'account.signIn': 'Signed in',
  'account.signInFailed': 'Failed to sign in as',
  'account.linkProvider': 'Linked an identity provider to',
  'account.changePassword': 'Changed the password of',
  'account.enableTwoFactor': 'Turned on two-factor sign-in for',
  'account.disableTwoFactor': 'Turned off two-factor sign-in for',
  'account.addApp': 'Added an authenticator app to',
  'account.addPasskey': 'Added a passkey to',
  'account.removePasskey': 'Removed a passkey from',
  'account.useBackupCode': 'Used a recovery code of',
  'account.renewRecoveryCodes': 'Generated new recovery codes for',
};

const SUBJECTS = ['name', 'email', 'plan'] as const;

export interface Sentence {
  readonly verb: string;
  /** What it was done to: a name, an e-mail or a plan. Empty: nothing. */
  readonly subject: string;
  /** The settings recorded with the event. */
  readonly settings: readonly { readonly name: string; readonly value: string }[];
}

/** The end of a verb that is cut off if no subject follows. What is left says enough. */
const OF_OTHERS = / (of|to|for)$/;
const SAYS_ENOUGH = /^(Joined|Left|Signed in)$/;

/** Describes an event in words. An unknown action keeps its own name. */
export function sentenceOf({ actor, action, details }: AuditView): Sentence {
  const subjectKey = SUBJECTS.find((key) => typeof details[key] === 'string');
  const subject = subjectKey ? String(details[subjectKey]) : '';
  const verb = VERBS[action] ?? action;
  const isOwn = subject === actor && (OF_OTHERS.test(verb) || SAYS_ENOUGH.test(verb));
  // Some subjects are shown to owners only.
  const isAlone = isOwn || subject === '';
  return {
    verb: isAlone ? verb.replace(OF_OTHERS, '') : verb,
    subject: isAlone ? '' : subject,
    settings: settingsOf(action, details)
      .filter(([name, value]) => name !== subjectKey && value !== null)
      .map(([name, value]) => ({ name: NAMES[name] ?? wordsOf(name), value: textOf(name, value) })),
  };
}

/** A change of role reads "from member to owner". Older events have only the role. */
function settingsOf(action: string, { from, ...details }: AuditView['details']): [string, unknown][] {
  if (from === undefined) return Object.entries(details);
  const { role, ...others } = details;
  return action === 'member.setRole'
    ? Object.entries({ ...others, from: `${from} to ${role}` })
    : Object.entries({ ...details, from });
}

/** Settings that have another name on the screens. */
const NAMES: Readonly<Record<string, string>> = {
  rpm: 'requests a minute',
  atOnce: 'requests at once',
  contextTokens: 'context length',
  driver: 'runs',
  commandSha256: 'SHA-256 of the command',
  upstreamKey: 'upstream key',
  urls: 'servers',
  origins: 'at',
  upstreamModel: 'upstream model',
  healthPath: 'path to probe',
  sleepAfterS: 'idle time',
  startTimeoutS: 'start timeout',
};
const VALUES: Readonly<Record<string, string>> = {
  always_on: 'always on',
  wake_on_request: 'wakes on request',
  external: 'at URLs',
  process: 'a command',
  kubernetes: 'on Kubernetes',
};
/** The settings whose values are among these. */
const CHOICES: ReadonlySet<string> = new Set(['mode', 'driver']);

/** `requestsAtOnce` becomes `requests at once`. */
const wordsOf = (name: string): string => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/** A day or an instant, as Tidegate records them. */
const TIME = /^\d{4}-\d\d-\d\d(T[\d:.]+Z)?$/;
/** The settings whose values are times. */
const TIMES: ReadonlySet<string> = new Set(['until', 'expiresOn']);

/** Only names that Tidegate gave are translated. A model itself may have any of these names. */
function textOf(name: string, value: unknown): string {
  if (typeof value === 'number') return whole(value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (TIMES.has(name) && TIME.test(String(value))) return timeText(String(value));
  if (!Array.isArray(value)) return (CHOICES.has(name) && VALUES[String(value)]) || String(value);
  const words = value.map(String);
  return (name === 'changed' ? words.map((word) => NAMES[word] ?? wordsOf(word)) : words).join(', ');
}
