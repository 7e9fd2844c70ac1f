import type {
  AccountView,
  AddedMember,
  DeletedAccountView,
  MemberView,
  NamedAccount,
  Role,
} from '@tidegate/control';
import type { Command } from 'commander';
import { type Context, OPERATOR, show } from '../context.ts';
import { type Column, table, time } from '../output/table.ts';
import { flagsOf, secretOf } from './secret.ts';
import { given, verb } from './verb.ts';

const columns: Column<MemberView>[] = [
  { title: 'E-mail', cell: (member) => member.email },
  { title: 'Role', cell: (member) => member.role },
  { title: 'Since', cell: (member) => time(member.since, '') },
];
const one = (member: MemberView): string => table([member], columns);
const withPassword = (text: string, password: string | undefined): string =>
  password === undefined ? text : `${text}\n\nPassword: ${password}\nIt is shown this once.`;
const added = (member: AddedMember): string => withPassword(one(member), member.password);
/** Warns that the account is older: someone else may have created it. */
const hadAccount = ({ email, existed, accountSince }: AddedMember): string | undefined =>
  existed
    ? `${email} already had an account, created ${time(accountSince, '')}. It keeps its password, so whoever knows that can sign in.\n` +
      `If that may be someone else, replace it: ctl member set-password --email ${email}`
    : undefined;
const passwordSet = ({ email, password }: AccountView): string =>
  withPassword(`${email} has a new password, and is signed out everywhere.`, password);

const identityReset = ({ email }: NamedAccount): string =>
  `${email} has no identity at the provider any more, and is signed out everywhere.`;
const twoFactorReset = ({ email }: NamedAccount): string =>
  `${email} has no second factor any more, and is signed out everywhere.`;

const email = { flags: '--email <address>', help: 'whose membership', required: true };
const role = { flags: '--role <role>', help: 'owner, member or viewer', required: true };

interface Flags {
  readonly email: string;
  readonly role: Role;
  readonly password?: string;
  readonly passwordStdin?: boolean;
}

const password = { name: 'password', prompt: 'New password' };
const ofNewAccount = { ...password, help: 'of the new account (default: generated and shown once)' };
const ofAccount = { ...password, help: 'the new one (default: generated and shown once)' };

export function addMember(program: Command, context: Context): void {
  const noun = program.command('member').description('who belongs to an organization');
  verb<Flags>(
    noun,
    'add',
    'add someone; a new e-mail gets an account',
    [email, role, ...flagsOf(ofNewAccount)],
    async ({ org, json = false, ...who }) => {
      const password = await secretOf(context, ofNewAccount, who.password, who.passwordStdin);
      await show(context, { json, human: added, warning: hadAccount }, (control) =>
        control.addMember(OPERATOR, { email: who.email, role: who.role, ...given({ org, password }) }),
      );
    },
  );
  verb(noun, 'list', 'list the members', [], ({ org, json = false }) =>
    show(context, { json, human: (members: MemberView[]) => table(members, columns) }, (control) =>
      control.listMembers(OPERATOR, given({ org })),
    ),
  );
  verb<Flags>(
    noun,
    'set-role',
    'change the role of a member',
    [email, role],
    ({ org, json = false, ...who }) =>
      show(context, { json, human: one }, (control) =>
        control.setMemberRole(OPERATOR, { email: who.email, role: who.role, ...given({ org }) }),
      ),
  );
  verb<Flags>(
    noun,
    'remove',
    'take someone out of the organization',
    [email],
    ({ org, json = false, ...who }) =>
      show(
        context,
        { json, human: (member: MemberView) => `${member.email} is no longer a member.` },
        (control) => control.removeMember(OPERATOR, { email: who.email, ...given({ org }) }),
      ),
  );
  verb<Pick<Flags, 'email'>>(
    noun,
    'reset-two-factor',
    'remove the second factor of someone who lost it, and end all sessions, in every organization',
    [{ flags: '--email <address>', help: 'whose account', required: true }],
    ({ json = false, ...who }) =>
      show(context, { json, human: twoFactorReset }, (control) =>
        control.resetTwoFactor(OPERATOR, { email: who.email }),
      ),
  );
  verb<Pick<Flags, 'email'>>(
    noun,
    'reset-identity',
    'let the next identity at the provider with this e-mail have the account; end all sessions',
    [{ flags: '--email <address>', help: 'whose account', required: true }],
    ({ json = false, ...who }) =>
      show(context, { json, human: identityReset }, (control) =>
        control.resetIdentity(OPERATOR, { email: who.email }),
      ),
  );
  verb<Omit<Flags, 'role'>>(
    noun,
    'set-password',
    'replace a lost password and end all sessions, in every organization',
    [{ flags: '--email <address>', help: 'whose account', required: true }, ...flagsOf(ofAccount)],
    async ({ json = false, ...who }) => {
      const password = await secretOf(context, ofAccount, who.password, who.passwordStdin);
      await show(context, { json, human: passwordSet }, (control) =>
        control.setPassword(OPERATOR, { email: who.email, ...given({ password }) }),
      );
    },
  );
  verb<Omit<Flags, 'role'>>(
    noun,
    'delete',
    'delete an account, in every organization',
    [{ flags: '--email <address>', help: 'whose account', required: true }],
    ({ json = false, ...who }) =>
      show(
        context,
        { json, human: (account: DeletedAccountView) => `The account of ${account.email} is deleted.` },
        (control) => control.deleteAccount(OPERATOR, { email: who.email }),
      ),
  );
}
