import type { AccountView, AddedMember, MemberView, Result, Role } from '@tidegate/control';
import type { Command } from 'commander';
import { CommandError, type Context, OPERATOR, show } from '../context.ts';
import { type Column, table, time } from '../output/table.ts';
import { flagsOf, secretGiven } from './secret.ts';
import { given, type Org, operation, verb } from './verb.ts';

const columns: Column<MemberView>[] = [
  { title: 'E-mail', cell: (member) => member.email },
  { title: 'Role', cell: (member) => member.role },
  { title: 'Since', cell: (member) => time(member.since, '') },
];
const one = (member: MemberView): string => table([member], columns);
const passwordText = ({ password }: { readonly password?: string }): string | undefined =>
  password === undefined ? undefined : `Password: ${password}\nIt is shown only once.`;
const withPassword = (text: string, account: { readonly password?: string }): string =>
  [text, passwordText(account)].filter((part) => part !== undefined).join('\n\n');
const added = (member: AddedMember): string => withPassword(one(member), member);
/** Warns that the account is older: someone else may have created it. */
const hadAccount = ({ email, existed, accountSince }: AddedMember): string | undefined =>
  existed
    ? `${email} already had an account, created ${time(accountSince, '')}. It keeps its password, so whoever knows that can sign in.\n` +
      `If that may be someone else, replace it: ctl member set-password --email ${email}`
    : undefined;
const passwordSet = (account: AccountView): string =>
  withPassword(`${account.email} has a new password, and is signed out everywhere.`, account);

/**
 * Whether users can sign in with passwords.
 * @throws CommandError if they cannot, and a password is to be set
 */
function passwordsLetIn({ config }: Context, isSet: boolean): boolean {
  const { OIDC_ONLY } = config();
  if (OIDC_ONLY && isSet)
    throw new CommandError(
      'Passwords are turned off: people sign in through the identity provider only (OIDC_ONLY).',
    );
  return !OIDC_ONLY;
}

/** Leaves out the generated password of a new account, which no one can use. */
function withoutPassword(result: Result<AddedMember>): Result<AddedMember> {
  if (!result.ok) return result;
  const { password: _, ...member } = result.value;
  return { ...result, value: member };
}

const email = { flags: '--email <address>', help: 'e-mail address of the member', required: true };
const role = { flags: '--role <role>', help: 'owner, member or viewer', required: true };
const account = { flags: '--email <address>', help: 'e-mail address of the account', required: true };

interface Account {
  readonly email: string;
}
interface Membership extends Org, Account {}
interface WithRole extends Membership {
  readonly role: Role;
}
interface Password {
  readonly password?: string;
  readonly passwordStdin?: boolean;
}

const password = { name: 'password', prompt: 'New password' };
const ofNewAccount = { ...password, help: 'password of the new account (default: generated and shown once)' };
const ofAccount = { ...password, help: 'the new password (default: generated and shown once)' };

export function addMemberCommand(program: Command, context: Context): void {
  const noun = program.command('member').description('members of an organization');
  verb<WithRole & Password>(
    noun,
    'add',
    'add someone; a new e-mail gets an account',
    [email, role, ...flagsOf(ofNewAccount)],
    async ({ org, json, ...who }) => {
      const isSet = who.password !== undefined || who.passwordStdin === true;
      const isShown = passwordsLetIn(context, isSet);
      const password = await secretGiven(context, ofNewAccount, who.password, who.passwordStdin);
      await show(context, { json, human: added, warning: hadAccount }, async (control) => {
        const input = { email: who.email, role: who.role, ...given({ org, password }) };
        const result = await control.addMember(OPERATOR, input);
        return isShown ? result : withoutPassword(result);
      });
    },
  );
  operation(noun, context, {
    name: 'list',
    help: 'list the members',
    run: (control, { org }: Org) => control.listMembers(OPERATOR, given({ org })),
    human: (members) => table(members, columns),
  });
  operation(noun, context, {
    name: 'set-role',
    help: 'change the role of a member',
    flags: [email, role],
    run: (control, { org, email, role }: WithRole) =>
      control.setMemberRole(OPERATOR, { email, role, ...given({ org }) }),
    human: one,
  });
  operation(noun, context, {
    name: 'remove',
    help: 'remove someone from the organization',
    flags: [email],
    run: (control, { org, email }: Membership) =>
      control.removeMember(OPERATOR, { email, ...given({ org }) }),
    human: (member) => `${member.email} is no longer a member.`,
  });
  addAccountVerbs(noun, context);
}

/** Verbs about an account, which may belong to several organizations. */
function addAccountVerbs(noun: Command, context: Context): void {
  operation(noun, context, {
    name: 'reset-two-factor',
    help: 'remove the second factor of someone who lost it, and end all sessions, in every organization',
    org: null,
    flags: [account],
    run: (control, { email }: Account) => control.resetTwoFactor(OPERATOR, { email }),
    human: ({ email }) => `${email} no longer has a second factor, and is signed out everywhere.`,
  });
  operation(noun, context, {
    name: 'reset-identity',
    help: 'let the next identity at the provider with this e-mail take over the account; end all sessions',
    org: null,
    flags: [account],
    run: (control, { email }: Account) => control.resetIdentity(OPERATOR, { email }),
    human: ({ email }) => `${email} no longer has an identity at the provider, and is signed out everywhere.`,
  });
  verb<Account & Password>(
    noun,
    'set-password',
    'replace a lost password and end all sessions, in every organization',
    [account, ...flagsOf(ofAccount)],
    async ({ json, email, ...who }) => {
      passwordsLetIn(context, true);
      const password = await secretGiven(context, ofAccount, who.password, who.passwordStdin);
      const input = { email, ...given({ password }) };
      await show(context, { json, human: passwordSet, once: passwordText }, (control) =>
        control.setPassword(OPERATOR, input),
      );
    },
    null,
  );
  operation(noun, context, {
    name: 'delete',
    help: 'delete an account, in every organization',
    org: null,
    flags: [account],
    run: (control, { email }: Account) => control.deleteAccount(OPERATOR, { email }),
    human: ({ email }) => `The account of ${email} is deleted.`,
  });
}
