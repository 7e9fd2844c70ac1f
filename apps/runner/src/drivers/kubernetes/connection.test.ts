import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually, isPidAlive } from '@tidegate/testing';
import { API_TIMINGS, KubernetesApi } from './api.ts';
import { Connection } from './connection.ts';

const WORKLOAD = { namespace: 'gpu', kind: 'deployment', name: 'qwen' } as const;

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tidegate-kube-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** Asks for a count with the credentials that a shell script prints. */
function ask(script: string, callMs: number, programMs?: number): Promise<unknown> {
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'sh', args: ['-c', script] };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    clusters: [{ name: 'test', cluster: { server: 'http://127.0.0.1:1' } }],
    users: [{ name: 'test', user: { exec } }],
  };
  const path = join(dir, 'kubeconfig');
  writeFileSync(path, JSON.stringify(config));
  const { signal } = new AbortController();
  const leading = { lost: signal, holds: () => true };
  const api = new KubernetesApi(new Connection(path, programMs), leading, { ...API_TIMINGS, callMs });
  return api.scale(WORKLOAD, signal);
}

describe('a program that fetches credentials', () => {
  it('delays a call no longer than the call may take', async () => {
    // The client keeps the other end of its input open.
    const late = { status: 0, message: 'its credentials could not be fetched in time' };
    await expect(ask('read -r line', 500)).rejects.toMatchObject(late);
  });

  it('is killed when it hangs, even if it ignores being told to end', async () => {
    const pidFile = join(dir, 'pid');
    const hangs = `trap '' TERM; echo $$ > "${pidFile}"; read -r line`;
    // On a busy machine it may be killed before it has written its number: then another one tries.
    const pid = await eventually(async () => {
      await expect(ask(hangs, 500, 1_000)).rejects.toThrow('could not be fetched');
      const written = Number(readFileSync(pidFile, 'utf8'));
      return written > 0 && isPidAlive(written) && written;
    });
    await eventually(() => !isPidAlive(pid));
  });

  it('is reported, when it fails, with the end of its output, cleaned and shortened', async () => {
    const failing = ask("printf 'token: abc\\nlog in\\001again \\n\\n' >&2; exit 1", 30_000);
    await expect(failing).rejects.toMatchObject({
      status: 0,
      message: 'its credentials could not be fetched: log in again',
    });
    const long = ask("printf '%0500d' 0 >&2; exit 1", 30_000);
    await expect(long).rejects.toMatchObject({ message: expect.stringMatching(/: 0{200}$/) });
  });

  it('is not quoted when its output is not JSON: that may be a token', async () => {
    const message = 'its credentials could not be fetched: the answer is not JSON';
    await expect(ask('echo secret', 30_000)).rejects.toMatchObject({ message });
  });
});
