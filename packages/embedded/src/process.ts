import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access, mkdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { basename } from 'node:path';
import { createInterface } from 'node:readline';
import { type Command, exitOf, stopChild, until } from '@tidegate/processes';
import { causeIn, EmbeddedError } from './errors.ts';

const TAIL_LINES = 15;
/** A server that has not ended by then is killed. */
const STOP_TIMEOUT_MS = 15_000;

type OnLog = (line: string) => void;

/** A child process. It keeps the last lines of its output for error messages. */
export class ServerProcess {
  readonly exited: Promise<void>;
  readonly #child: ChildProcess;
  readonly #tail: string[];
  #ended = false;

  /** Starts it in its own process group, so that a terminal's Ctrl-C reaches only its owner. */
  constructor({ command, args, options }: Command, onLog?: OnLog) {
    this.#child = spawn(command, [...args], {
      ...options,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#tail = followOutput(this.#child, onLog);
    this.exited = exitOf(this.#child, 'close').then(({ error }) => {
      if (error) this.#tail.push(error.message);
      this.#ended = true;
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** The last lines of its output. */
  get tail(): readonly string[] {
    return this.#tail;
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Ends it with `signal`, and by force after 15 s. Resolves when it has ended. Idempotent. */
  async stop(signal: NodeJS.Signals): Promise<void> {
    if (this.#ended) return;
    await stopChild(this.#child, { exited: this.exited, ask: signal, timeoutMs: STOP_TIMEOUT_MS });
  }
}

/**
 * Calls `probe` until it returns true.
 * @throws EmbeddedError, with the server's last output, when the server ends first or `timeoutMs`
 * pass
 */
export async function untilReady(
  what: string,
  server: ServerProcess,
  probe: () => Promise<boolean>,
  timeoutMs: number,
): Promise<void> {
  const decided = await until(async () => (await probe()) || server.ended, { timeoutMs });
  if (server.ended) throw failed(`${what} ended while starting`, server.tail);
  if (decided) return;
  await server.stop('SIGKILL');
  throw failed(`${what} was not ready after ${timeoutMs / 1000} s`, server.tail);
}

/** Checks that nothing listens on a port of 127.0.0.1. @throws EmbeddedError that names the port */
export async function assertPortFree(what: string, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      const reason =
        error.code === 'EADDRINUSE' ? 'is taken by another process' : `cannot be used (${error.code})`;
      reject(new EmbeddedError(`${what} cannot start: port ${port} of 127.0.0.1 ${reason}`));
    });
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => server.close(() => resolve()));
  });
}

/**
 * Runs a command and waits for its end.
 * @param step what fails if the command fails, such as "Postgres could not be set up"
 * @throws EmbeddedError with the step, the cause and the command's output
 */
export async function runStep(step: string, command: Command, onLog?: OnLog): Promise<void> {
  const child = spawn(command.command, [...command.args], {
    ...command.options,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const tail = followOutput(child, onLog);
  const { code, error } = await exitOf(child, 'close');
  if (code === 0) return;
  if (error) throw failed(step, [error.message]);
  throw failed(step, tail.length > 0 ? tail : [`${basename(command.command)} exited with ${code}`]);
}

/** Passes on each line that a child prints. Returns the last ones, which it keeps up to date. */
function followOutput({ stdout, stderr }: ChildProcess, onLog: OnLog = () => {}): string[] {
  const tail: string[] = [];
  for (const stream of [stdout, stderr]) {
    // Undefined: it could not be started.
    if (!stream) continue;
    createInterface({ input: stream }).on('line', (line) => {
      tail.push(line);
      if (tail.length > TAIL_LINES) tail.shift();
      onLog(line);
    });
  }
  return tail;
}

/** The message has the step and its cause. The program's output is kept beside it. */
const failed = (step: string, output: readonly string[]): EmbeddedError =>
  new EmbeddedError(`${step}: ${causeIn(output) ?? 'it did not say why'}`, {
    output: output.join('\n').trim(),
  });

/**
 * Creates a directory and its parents, private to its owner.
 * @throws the system's error if it cannot be created or is not usable
 */
export async function makeDirectory(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  await access(path, constants.W_OK | constants.X_OK);
}
