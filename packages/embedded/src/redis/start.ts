import { resolve } from 'node:path';
import { type Command, diesWithParent } from '@tidegate/processes';
import { EmbeddedError, systemCause } from '../errors.ts';
import { assertPortFree, makeDirectory, ServerProcess, untilReady } from '../process.ts';
import { commandAs } from './command.ts';
import { programOf, type RedisServer } from './find.ts';

const READY_TIMEOUT_MS = 30_000;

export interface RedisOptions {
  /** The server that `findRedis` found. */
  readonly server: RedisServer;
  /** The data directory. Created if missing. */
  readonly dir: string;
  /** A port of 127.0.0.1. */
  readonly port: number;
  /** Keep an append-only file, and recover from it. Default: true. */
  readonly appendonly?: boolean;
  /**
   * When the file is forced to disk. Default: `everysec`. Only `always` hands every acknowledged
   * write to the system before the process can be killed: otherwise Redis delays writes while it
   * forces earlier ones to disk.
   */
  readonly appendfsync?: 'always' | 'everysec' | 'no';
  /** Users and their rights. Default: everybody who can connect may do everything. */
  readonly users?: {
    /** A file of `user` lines. */
    readonly aclFile: string;
    /** The password that the file gives to the user `default`, who may do everything. */
    readonly password: string;
  };
  /** Refuse writes while fewer replicas than this follow. Default: 0. */
  readonly minReplicas?: number;
  /** Makes it a node of a cluster. `startRedisCluster` joins the nodes. */
  readonly cluster?: {
    /** The port that nodes use among themselves. */
    readonly busPort: number;
    /** A node that is unreachable for this long is failed over. */
    readonly nodeTimeoutMs: number;
  };
  readonly onLog?: (line: string) => void;
}

export interface RunningRedis {
  /** With the password, if there is one. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Resolves when the server has ended, whoever ended it. */
  readonly exited: Promise<void>;
  /** Sends a signal. `exited` says when it took effect. */
  kill(signal: NodeJS.Signals): void;
  /** Ends it normally. Resolves when it has ended. Idempotent. */
  stop(): Promise<void>;
}

/** A Redis that can be killed and started again, with the same data and port. */
export interface RedisNode {
  readonly port: number;
  readonly running: RunningRedis;
  start(): Promise<void>;
}

/** Starts a Redis that may be started again. @throws EmbeddedError as `startRedis` */
export async function startRedisNode(options: RedisOptions): Promise<RedisNode> {
  let running = await startRedis(options);
  return {
    port: options.port,
    get running() {
      return running;
    },
    async start() {
      running = await startRedis(options);
    },
  };
}

/**
 * Starts a Redis on 127.0.0.1 and waits until it has loaded its data and answers.
 * @throws EmbeddedError when the port is taken or the server does not start
 */
export async function startRedis(options: RedisOptions): Promise<RunningRedis> {
  await assertPortFree('Redis', options.port);
  const dir = resolve(options.dir);
  await makeDirectory(dir).catch((cause) => {
    throw new EmbeddedError(`Redis could not be set up: ${systemCause(cause) ?? cause}`, { cause });
  });
  const server = new ServerProcess(await serverCommand(options, dir), options.onLog);
  const { port } = options;
  const password = options.users?.password;
  await untilReady('Redis', server, () => answers(port, password), READY_TIMEOUT_MS);
  return {
    url: `redis://${password === undefined ? '' : `:${encodeURIComponent(password)}@`}127.0.0.1:${port}`,
    port,
    pid: server.pid,
    exited: server.exited,
    kill: (signal) => server.kill(signal),
    stop: () => server.stop('SIGTERM'),
  };
}

async function serverCommand(options: RedisOptions, dir: string): Promise<Command> {
  const settings: Record<string, string> = {
    dir,
    port: String(options.port),
    bind: '127.0.0.1',
    daemonize: 'no',
    appendonly: (options.appendonly ?? true) ? 'yes' : 'no',
    appendfsync: options.appendfsync ?? 'everysec',
    // The append-only file is enough. A snapshot beside it would only cost time.
    save: '',
    'maxmemory-policy': 'noeviction',
    'repl-diskless-sync-delay': '0',
    'min-replicas-to-write': String(options.minReplicas ?? 0),
    ...(options.users ? { aclfile: resolve(options.users.aclFile) } : {}),
    ...(options.cluster
      ? {
          'cluster-enabled': 'yes',
          'cluster-port': String(options.cluster.busPort),
          'cluster-node-timeout': String(options.cluster.nodeTimeoutMs),
          // Requests for slots without a server are refused. Other slots still work.
          'cluster-require-full-coverage': 'no',
        }
      : {}),
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  return diesWithParent(programOf(options.server, args));
}

/** Whether it answers PING. While it loads its data, it answers with an error. */
const answers = (port: number, password: string | undefined): Promise<boolean> =>
  commandAs(password, port, 'PING').then(
    (answer) => answer === 'PONG',
    () => false,
  );
