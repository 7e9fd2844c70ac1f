import { access, chown, readFile, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type Command, findOnPath } from '@tidegate/processes';
import { EmbeddedError } from '../errors.ts';

/** The account that Postgres runs as. It refuses to run as root. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

const S_IX = { owner: 0o100, group: 0o010, others: 0o001 };
/** The bits of a Linux process's capabilities. */
const CAPABILITIES = {
  CAP_CHOWN: 0,
  CAP_DAC_OVERRIDE: 1,
  CAP_DAC_READ_SEARCH: 2,
  CAP_KILL: 5,
  CAP_SETGID: 6,
  CAP_SETUID: 7,
  CAP_SETPCAP: 8,
};
type Capability = keyof typeof CAPABILITIES;
/**
 * Needed to run a server as another user, to write files into its data directory, and to end it.
 */
const NEEDED = ['CAP_CHOWN', 'CAP_DAC_OVERRIDE', 'CAP_KILL', 'CAP_SETGID', 'CAP_SETUID'] as const;
/** System accounts to run Postgres as, best first. Every Linux has at least one of them. */
const CANDIDATES = ['postgres', 'nobody'];

/**
 * Finds the account to run Postgres as: the candidate that already owns the data, else the best
 * one. Undefined: this process is not root and can run Postgres itself.
 * @throws EmbeddedError when there is no candidate, or this root cannot become another user
 */
export async function findAccount(dataDir: string): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const missing = await missingCapabilities(...NEEDED);
  if (missing.length > 0)
    throw new EmbeddedError(
      `Postgres does not run as root, and this root user cannot run it as another user without ${missing.join(', ')}: start as another user, or set DATABASE_URL`,
    );
  const users = await readUsers();
  const accounts = CANDIDATES.flatMap(
    (name) => users.find((user) => user.name === name && user.uid !== 0) ?? [],
  );
  const owner = await ownerOf(dataDir);
  const account = accounts.find(({ uid }) => uid === owner) ?? accounts[0];
  if (account !== undefined) return { uid: account.uid, gid: account.gid };
  throw new EmbeddedError(
    'Postgres does not run as root, and this system has no user named postgres or nobody: add one',
  );
}

/**
 * Checks the owner of the data.
 * @throws EmbeddedError when it does not belong to the account that Postgres would run as
 */
export async function checkOwner(account: Account | undefined, dataDir: string): Promise<void> {
  const own = account?.uid ?? process.getuid?.();
  const owner = await ownerOf(dataDir);
  if (own === undefined || owner === undefined || owner === own) return;
  const isDatabase = await access(join(dataDir, 'PG_VERSION')).then(
    () => true,
    ({ code }: NodeJS.ErrnoException) => code !== 'ENOENT',
  );
  if (!isDatabase) return;
  const users = await readUsers();
  const nameOf = (uid: number) => users.find((user) => user.uid === uid)?.name ?? `user ${uid}`;
  const chown = `chown -R ${own} '${dataDir}'`;
  const isPerson = owner !== 0 && !CANDIDATES.includes(nameOf(owner));
  throw new EmbeddedError(
    `Postgres could not be set up: its data in ${dataDir} belongs to ${nameOf(owner)}, but it would run as ${nameOf(own)}. ` +
      adviceFor(account, isPerson ? nameOf(owner) : undefined, chown),
  );
}

function adviceFor(account: Account | undefined, person: string | undefined, chown: string): string {
  if (account === undefined)
    return `Start Tidegate as the user who started it before, or have root run: ${chown}`;
  if (person === undefined) return `To fix this: ${chown}`;
  return `Start Tidegate as ${person}. To start it as root from now on: ${chown}`;
}

async function ownerOf(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ uid }) => uid,
    () => undefined,
  );
}

async function readUsers(): Promise<(Account & { readonly name: string })[]> {
  const lines = (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n');
  return lines.map((line) => {
    const [name = '', , uid, gid] = line.split(':');
    return { name, uid: Number(uid), gid: Number(gid) };
  });
}

/** Gives a directory or file to the account. */
export async function giveTo(account: Account | undefined, path: string): Promise<void> {
  if (account !== undefined) await chown(path, account.uid, account.gid);
}

/**
 * Makes a command run as `account`. If a directory above one of `paths` is closed to the account (a
 * checkout under /root), the command keeps one capability of root: CAP_DAC_READ_SEARCH, which lets
 * it enter all directories and read all files. If this root lacks that, as is usual in containers,
 * the command keeps CAP_DAC_OVERRIDE instead, which also lets it write them.
 */
export async function runAs(
  account: Account | undefined,
  paths: readonly string[],
  command: Command,
): Promise<Command> {
  if (account === undefined) return command;
  const closed = await findClosed(account, paths);
  const options = { ...command.options, cwd: '/' };
  if (closed === undefined)
    return { ...command, options: { ...options, uid: account.uid, gid: account.gid } };
  const setpriv = await findOnPath('setpriv');
  const missing: string[] = await missingCapabilities('CAP_SETPCAP');
  if (setpriv === undefined) missing.push('setpriv (of util-linux)');
  if (setpriv === undefined || missing.length > 0)
    throw new EmbeddedError(
      `Postgres does not run as root, and ${closed} is closed to the user it would run as. ` +
        `Entering it needs ${missing.join(' and ')}, which this ${setpriv === undefined ? 'system' : 'process'} lacks. ` +
        'Make the directory searchable (chmod o+x), move the checkout, or set DATABASE_URL.',
    );
  const noSearch = (await missingCapabilities('CAP_DAC_READ_SEARCH')).length > 0;
  const kept = noSearch ? 'dac_override' : 'dac_read_search';
  const identity = [`--reuid=${account.uid}`, `--regid=${account.gid}`, '--clear-groups'];
  const right = [
    `--inh-caps=-all,+${kept}`,
    `--ambient-caps=-all,+${kept}`,
    `--bounding-set=-all,+${kept}`,
    // Postgres calls access(2) to see whether it may run its own programs. Without this bit, that
    // call ignores the capability.
    '--securebits=+no_setuid_fixup',
  ];
  return { command: setpriv, args: [...identity, ...right, command.command, ...command.args], options };
}

/**
 * The first directory on the way to one of `paths` that the account may not enter. Checks the paths
 * as written, and as their links resolve.
 */
async function findClosed(account: Account, paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) {
    const closed = (await closedAbove(account, path)) ?? (await closedAbove(account, await realPathOf(path)));
    if (closed !== undefined) return closed;
  }
  return undefined;
}

async function closedAbove(account: Account, path: string): Promise<string | undefined> {
  for (let directory = dirname(path); ; directory = dirname(directory)) {
    const { uid, gid, mode } = await stat(directory);
    const bit = uid === account.uid ? S_IX.owner : gid === account.gid ? S_IX.group : S_IX.others;
    if ((mode & bit) === 0) return directory;
    if (directory === dirname(directory)) return undefined;
  }
}

/** Resolves the links of a path. The last parts of the path need not exist. */
async function realPathOf(path: string): Promise<string> {
  return realpath(path).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' || path === dirname(path)) throw error;
    return join(await realPathOf(dirname(path)), basename(path));
  });
}

/** The capabilities among `wanted` that this process lacks. Only Linux has capabilities. */
async function missingCapabilities(...wanted: Capability[]): Promise<Capability[]> {
  const status = await readFile('/proc/self/status', 'utf8').catch(() => '');
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1];
  if (effective === undefined) return [];
  return wanted.filter((name) => ((BigInt(`0x${effective}`) >> BigInt(CAPABILITIES[name])) & 1n) === 0n);
}
