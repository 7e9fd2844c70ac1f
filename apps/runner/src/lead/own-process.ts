import { readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { identify, isAlive } from '@tidegate/processes';

/** Names this runner for people. */
export const ownName = (): string => `${hostname()}:${process.pid}`;

/**
 * Names this process to other runners that can see it: those in the same PID namespace, since the
 * same boot of the machine. Null: the system has no such names.
 */
export function ownProcess(): string | null {
  const namespace = pidNamespace();
  const known = identify(process.pid);
  return namespace === null || known === null ? null : `${namespace} ${known.pid} ${known.identity}`;
}

/** Whether the process with this name has certainly ended. */
export function hasEnded(name: string | null): boolean {
  const [namespace, pid, identity] = name?.split(' ') ?? [];
  if (!namespace || !pid || !identity) return false;
  return (
    namespace === pidNamespace() && isOfThisMachine(identity) && !isAlive({ pid: Number(pid), identity })
  );
}

/** The part of an identity that names the boot of a machine. No two machines share it. */
const bootOf = (identity: string): string => identity.slice(0, identity.lastIndexOf(':'));

function isOfThisMachine(identity: string): boolean {
  const own = identify(process.pid);
  return own !== null && bootOf(own.identity) !== '' && bootOf(own.identity) === bootOf(identity);
}

function pidNamespace(): string | null {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return null;
  }
}
