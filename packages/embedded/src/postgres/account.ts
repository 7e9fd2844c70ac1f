import { access, chown, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { EmbeddedError } from '../errors.ts';
import { type Command, findOnPath } from '../process.ts';

/** Who Postgres runs as: it refuses to run as root. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

const S_IX = { owner: 0o100, group: 0o010, others: 0o001 };
/** Bits of a Linux process's capabilities, by what they let it do. */
const CAPABILITIES = { CAP_CHOWN: 0, CAP_DAC_OVERRIDE: 1, CAP_SETGID: 6, CAP_SETUID: 7, CAP_SETPCAP: 8 };
type Capability = keyof typeof CAPABILITIES;
/** Accounts that every Linux has one of, best first. */
const CANDIDATES = ['postgres', 'nobody'];

/**
 * Undefined unless this process is root: then it is whoever of the candidates owns the data already, else the best of them.
 * @throws EmbeddedError when there is none, or this root cannot become another user
 */
export async function findAccount(dataDir: string): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const missing = await missingCapabilities('CAP_CHOWN', 'CAP_SETGID', 'CAP_SETUID');
  if (missing.length > 0)
    throw new EmbeddedError(
      `Postgres does not run as root, and this root cannot run it as another user without ${missing.join(', ')}: become another user, or set DATABASE_URL`,
    );
  const users = await readUsers();
  const accounts = CANDIDATES.flatMap(
    (name) => users.find((user) => user.name === name && user.uid !== 0) ?? [],
  );
  const owner = await ownerOf(dataDir);
  const account = accounts.find(({ uid }) => uid === owner) ?? accounts[0];
  if (account !== undefined) return { uid: account.uid, gid: account.gid };
  throw new EmbeddedError(
    'Postgres does not run as root, and this system has neither a user postgres nor nobody: add one',
  );
}

/** @throws EmbeddedError when `dataDir` holds a database of another user than the server would run as */
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
  throw new EmbeddedError(
    `Postgres could not be set up: its data in ${dataDir} belongs to ${nameOf(owner)}, and it would run as ${nameOf(own)}. ` +
      (account
        ? `To put that right: ${chown}`
        : `Start it as whoever did before, or have root run: ${chown}`),
  );
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
 * The same command as `account`. When a directory above one of `paths` is closed to that account (a checkout under /root),
 * the command keeps root's right to pass it and no other right.
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
  const missing: string[] = await missingCapabilities('CAP_DAC_OVERRIDE', 'CAP_SETPCAP');
  if (setpriv === undefined) missing.push('setpriv (of util-linux)');
  if (setpriv === undefined || missing.length > 0)
    throw new EmbeddedError(
      `Postgres does not run as root, and ${closed} is closed to the user it would run as. ` +
        `Passing it takes ${missing.join(', ')}, which is missing here: open the directory (chmod o+x), move out of it, or set DATABASE_URL`,
    );
  const identity = [`--reuid=${account.uid}`, `--regid=${account.gid}`, '--clear-groups'];
  const right = [
    '--inh-caps=-all,+dac_override',
    '--ambient-caps=-all,+dac_override',
    '--bounding-set=-all,+dac_override',
    // Postgres asks access(2) whether it may run its own programs; without this, that call leaves the right aside.
    '--securebits=+no_setuid_fixup',
  ];
  return { command: setpriv, args: [...identity, ...right, command.command, ...command.args], options };
}

/** The first directory on the way to one of `paths` that the account may not pass. */
async function findClosed(account: Account, paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) {
    for (let directory = dirname(path); ; directory = dirname(directory)) {
      const { uid, gid, mode } = await stat(directory);
      const bit = uid === account.uid ? S_IX.owner : gid === account.gid ? S_IX.group : S_IX.others;
      if ((mode & bit) === 0) return directory;
      if (directory === dirname(directory)) break;
    }
  }
  return undefined;
}

/** Those of `wanted` that this process lacks. Only Linux has any. */
async function missingCapabilities(...wanted: Capability[]): Promise<Capability[]> {
  const status = await readFile('/proc/self/status', 'utf8').catch(() => '');
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1];
  if (effective === undefined) return [];
  return wanted.filter((name) => ((BigInt(`0x${effective}`) >> BigInt(CAPABILITIES[name])) & 1n) === 0n);
}
