import type { BootstrapView, Control, PlanView, Result, SetPlanInput } from '@tidegate/control';
import { PLAN_LIMITS } from '@tidegate/limits';
import type { Command } from 'commander';
import { type BootstrapSettings, readBootstrapSettings } from '../bootstrap-input.ts';
import { CommandError, type Context, OPERATOR, show } from '../context.ts';
import { flagsOf, secretGiven } from './secret.ts';
import { given } from './verb.ts';

/** What the command prints as JSON. */
interface Bootstrapped {
  /** Names of plans that were created or got other values. */
  readonly plans: readonly string[];
  /** Null: none was asked for, or there is one already. */
  readonly created: BootstrapView | null;
}

const VALUES = ['name', ...Object.keys(PLAN_LIMITS), 'images', 'offered'];

const password = {
  name: 'password',
  prompt: "The owner's password",
  help: 'password of a new owner',
};

interface Flags {
  readonly file?: string;
  readonly passwordStdin?: boolean;
  readonly json?: boolean;
}

/** Creates what an empty installation needs. May run at every start: it creates nothing twice. */
export function addBootstrapCommand(program: Command, context: Context): void {
  const command = program
    .command('bootstrap')
    .description(
      'create plans, the first organization and its owner; once there is an organization, only plans',
    )
    .option('--file <path>', 'YAML or JSON; BOOTSTRAP_ORG, BOOTSTRAP_PLAN and BOOTSTRAP_OWNER override it')
    .option('--json', 'print one JSON document and nothing else');
  const [, stdin] = flagsOf(password);
  if (stdin) command.option(stdin.flags, `${password.help}: ${stdin.help}; otherwise BOOTSTRAP_PASSWORD`);
  command.action(async ({ file, passwordStdin, json = false }: Flags) => {
    const { password: fromEnv, ...wanted } = readBootstrapSettings(file, context.env());
    const secret = (await secretGiven(context, password, undefined, passwordStdin)) ?? fromEnv;
    const { OIDC_ONLY } = context.config();
    const answer = { json, human: (made: Bootstrapped) => human(made, !OIDC_ONLY) };
    await show(context, answer, (control) => bootstrap(context, control, wanted, secret));
  });
}

async function bootstrap(
  { io }: Context,
  control: Control,
  { plans, organization, owner }: BootstrapSettings,
  password: string | undefined,
): Promise<Result<Bootstrapped>> {
  const listed = await control.listPlans(OPERATOR);
  if (!listed.ok) return listed;
  const changed = plans.filter((plan) => !isInForce(plan, listed.value));
  for (const plan of changed) {
    const set = await control.setPlan(OPERATOR, plan as SetPlanInput);
    if (!set.ok) return set;
    // Not a failure: in Compose, there may be no limiter yet. Each reads the plans when it starts.
    if (set.notInForce !== undefined) io.err(`Warning: plan ${plan.name}: ${set.notInForce}\n`);
  }
  const names = changed.map(({ name }) => name);
  if (!organization || !owner) return { ok: true, value: { plans: names, created: null } };
  const { name: org, plan } = organization;
  const made = await control.bootstrap(OPERATOR, { org, owner: owner.email, ...given({ plan, password }) });
  return made.ok ? { ok: true, value: { plans: names, created: made.value } } : made;
}

/** True if the plan has all of these values. */
function isInForce(
  { name, ...values }: BootstrapSettings['plans'][number],
  plans: readonly PlanView[],
): boolean {
  const unknown = Object.keys(values).find((value) => !VALUES.includes(value));
  if (unknown !== undefined)
    throw new CommandError(
      `The plan ${name} has no value ${unknown}. Values: ${VALUES.slice(1).join(', ')}.`,
    );
  const plan = plans.find((one) => one.name.toLowerCase() === name.toLowerCase());
  return (
    plan !== undefined &&
    Object.entries(values).every(([key, value]) => plan[key as keyof PlanView] === value)
  );
}

/** @param passwords whether users can sign in with passwords */
function human({ plans, created }: Bootstrapped, passwords: boolean): string {
  const said = plans.map((name) => `The plan ${name} is set.`);
  if (created === null)
    return [...said, said.length > 0 ? 'Nothing else to do.' : 'Nothing to do.'].join('\n');
  const { org, owner, passwordSet } = created;
  said.push(`Created the organization ${org.name} (${org.slug}) on the plan ${org.plan}, owned by ${owner}.`);
  if (passwordSet === null)
    said.push(
      `No password was given. ${owner} can sign in through your identity provider${passwords ? `, or once you have run \`ctl member set-password --email ${owner}\`` : ''}.`,
    );
  if (passwordSet === false) said.push(`${owner} had an account already, and keeps its password.`);
  return said.join('\n');
}
