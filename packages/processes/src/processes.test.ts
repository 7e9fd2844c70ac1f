import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from '@jest/globals';
import { type Exit, exitOf, stopChild } from './child.ts';
import { endGroup, signal } from './group.ts';
import { identify, isAlive, type KnownProcess } from './identity.ts';
import { until } from './until.ts';

const PATIENT = { stopGraceMs: 60_000, killGraceMs: 60_000 };

interface Started {
  readonly child: ChildProcess;
  readonly known: KnownProcess;
  readonly exited: Promise<Exit>;
  /** The process whose number the script has printed. */
  readonly other: KnownProcess;
}

const started: ChildProcess[] = [];
afterEach(() => {
  for (const { pid } of started.splice(0)) if (pid !== undefined) signal(pid, 'SIGKILL', { group: true });
});

/** Runs a script as the leader of its own group. Resolves when it prints a process's number. */
async function start(script: string): Promise<Started> {
  const child = spawn('/bin/sh', ['-c', script], { detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
  started.push(child);
  const exited = exitOf(child);
  const [line] = await once(child.stdout, 'data');
  return { child, exited, known: knownAs(child.pid), other: knownAs(Number(line)) };
}

const untilGone = async (known: KnownProcess): Promise<void> =>
  expect(await until(() => !isAlive(known), { timeoutMs: 60_000 })).toBe(true);

function knownAs(pid = 0): KnownProcess {
  return identify(pid) ?? { pid, identity: 'of a process that has ended' };
}

describe('the identity of a process', () => {
  it('holds until the process ends', async () => {
    const { known, exited } = await start('echo $$; exec sleep 100');
    expect(isAlive(known)).toBe(true);
    signal(known.pid, 'SIGKILL');
    await exited;
    expect(isAlive(known)).toBe(false);
    expect(identify(known.pid)).toBeNull();
  });

  it('tells it from another process with the same number', () => {
    expect(isAlive({ pid: process.pid, identity: 'another time' })).toBe(false);
  });

  it('is the same in every time zone, even without /proc', () => {
    const script = `
      Object.defineProperty(process, 'platform', { value: 'other' });
      const { identify } = await import('@tidegate/processes');
      process.stdout.write(identify(${process.pid})?.identity ?? '');`;
    const identityIn = (TZ: string) =>
      execFileSync(process.execPath, ['--input-type=module', '-e', script], {
        cwd: import.meta.dirname,
        encoding: 'utf8',
        env: { ...process.env, NODE_OPTIONS: '', TZ },
      });
    expect(identityIn('Asia/Kolkata')).toMatch(/^\w{3} \w{3} .* \d{4}$/);
    expect(identityIn('Asia/Kolkata')).toBe(identityIn('UTC0'));
  });

  it('is gone while an ended process waits to be reaped', async () => {
    const { known, other } = await start('sleep 100 & echo $!; exec sleep 100');
    expect(isAlive(other)).toBe(true);
    // The shell would reap its child; `sleep`, which takes its place, does not.
    const program = () => readFileSync(`/proc/${known.pid}/comm`, 'utf8');
    expect(await until(() => program() === 'sleep\n', { timeoutMs: 60_000 })).toBe(true);
    signal(other.pid, 'SIGKILL');
    await untilGone(other);
    expect(signal(other.pid, 'SIGKILL')).toBe(true);
  });
});

describe('a record without an identity', () => {
  it('belongs to no process, neither a dead one nor a live one', () => {
    const dead = { pid: 2 ** 30 } as KnownProcess;
    expect([dead, { pid: process.pid } as KnownProcess].filter(isAlive)).toEqual([]);
  });
});

describe('a group', () => {
  it.each([
    ['with the children of its leader', 'sleep 100 & echo $!; wait', 60_000],
    ['by force if it ignores SIGTERM', "trap '' TERM; sleep 100 & echo $!; wait", 1],
  ])('ends %s', async (_how, script, stopGraceMs) => {
    const { known, other } = await start(script);
    expect(isAlive(other)).toBe(true);
    await endGroup(known, { ...PATIENT, stopGraceMs });
    expect([known, other].filter(isAlive)).toEqual([]);
  });

  it('ends even if its leader has already ended', async () => {
    const { known, exited, other } = await start('sleep 100 & echo $!; sleep 100');
    signal(known.pid, 'SIGKILL');
    await exited;
    expect(isAlive(other)).toBe(true);
    await endGroup(known, PATIENT);
    expect(isAlive(other)).toBe(false);
  });

  it.each([
    ['its number belongs to another leader now', ({ identity }: KnownProcess) => `${identity}0`],
    ['the machine has been rebooted since', () => 'another boot:1'],
  ])('is left alone if %s', async (_why, identityOf) => {
    const { known } = await start('echo $$; exec sleep 100');
    await endGroup({ ...known, identity: identityOf(known) }, PATIENT);
    expect(isAlive(known)).toBe(true);
  });

  it('is left alone if its leader ended before a reboot', async () => {
    const { known, exited, other } = await start('sleep 100 & echo $!; sleep 100');
    signal(known.pid, 'SIGKILL');
    await exited;
    await endGroup({ ...known, identity: 'another boot:1' }, PATIENT);
    expect(isAlive(other)).toBe(true);
  });
});

it('a signal to a process that is gone reaches nobody', async () => {
  const { known, exited } = await start('echo $$; exec sleep 100');
  expect(signal(known.pid, 'SIGKILL')).toBe(true);
  await exited;
  expect(signal(known.pid, 'SIGKILL')).toBe(false);
});

describe('a child', () => {
  it.each([
    ['with its exit code', 'exit 3', { code: 3, signal: null }],
    ['with the signal that ended it', 'kill -9 $$', { code: null, signal: 'SIGKILL' }],
  ])('ends %s', async (_what, script, exit) => {
    expect(await exitOf(spawn('/bin/sh', ['-c', script]))).toEqual(exit);
  });

  it('that cannot be started ends with the reason, and can be stopped', async () => {
    const child = spawn('/no/such/program');
    const exited = exitOf(child);
    await stopChild(child, { exited, timeoutMs: 60_000 });
    expect(await exited).toMatchObject({ code: null, signal: null, error: { code: 'ENOENT' } });
  });

  it.each([
    ['that ends when asked', '', 60_000],
    ['that does not', "trap '' TERM;", 1],
  ])('%s is stopped together with its own children', async (_how, trap, timeoutMs) => {
    const { child, exited, known, other } = await start(`${trap} (trap '' TERM; sleep 100) & echo $!; wait`);
    await stopChild(child, { exited, timeoutMs });
    expect(isAlive(known)).toBe(false);
    await untilGone(other);
  });
});
