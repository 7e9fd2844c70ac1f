import type { AuditView } from '@tidegate/control';

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
  'model.start': 'Started model',
  'model.stop': 'Stopped model',
  'model.delete': 'Deleted model',
  'member.add': 'Added member',
  'member.invite': 'Invited',
  'member.withdraw': 'Withdrew the invitation of',
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
  'account.enableTwoFactor': 'Turned on two-factor sign-in of',
  'account.disableTwoFactor': 'Turned off two-factor sign-in of',
  'account.addPasskey': 'Added a passkey to',
  'account.removePasskey': 'Removed a passkey of',
  'account.useBackupCode': 'Used a backup code of',
};

const SUBJECTS = ['name', 'email', 'plan'] as const;

export interface Sentence {
  readonly verb: string;
  /** What it was done to: a name, an e-mail or a plan. Empty: nothing. */
  readonly subject: string;
  /** The settings recorded with the event. */
  readonly settings: readonly { readonly name: string; readonly value: string }[];
}

/** Describes an event in words. An unknown action keeps its own name. */
export function sentenceOf({ action, details }: AuditView): Sentence {
  const subjectKey = SUBJECTS.find((key) => typeof details[key] === 'string');
  return {
    verb: VERBS[action] ?? action,
    subject: subjectKey ? String(details[subjectKey]) : '',
    settings: Object.entries(details)
      .filter(([name, value]) => name !== subjectKey && value !== null)
      .map(([name, value]) => ({ name: wordsOf(name), value: textOf(value) })),
  };
}

/** `requestsPerMinute` becomes `requests per minute`. */
const wordsOf = (name: string): string => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

const textOf = (value: unknown): string => (Array.isArray(value) ? value.join(', ') : String(value));
