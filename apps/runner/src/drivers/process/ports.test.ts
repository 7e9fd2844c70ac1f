import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Ports } from './ports.ts';
import { writeRecord } from './state-file.ts';

let stateDir: string;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'tidegate-ports-'));
});
afterEach(() => rmSync(stateDir, { recursive: true, force: true }));

/** Starts in the middle of the range. */
const ports = () => new Ports(stateDir, () => 0.5);
const record = (port: number) => ({ pid: 1, identity: 'some boot', port, launchedAtMs: 0, ending: false });

describe('ports of processes', () => {
  it('are different for concurrent starts, although nothing listens on them yet', async () => {
    const given = ports();
    const all = await Promise.all(Array.from({ length: 50 }, () => given.take()));
    expect(new Set(all).size).toBe(50);
  });

  it('are never recorded ones, not even those of an earlier runner', async () => {
    const first = await ports().take();
    writeRecord(stateDir, 'mdl_a', record(first));
    expect(await ports().take()).not.toBe(first);
  });

  it('are never ones on which something listens', async () => {
    const first = await ports().take();
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(first, '127.0.0.1', resolve));
    try {
      expect(await ports().take()).not.toBe(first);
    } finally {
      server.close();
    }
  });

  it('are not reused immediately after their process has ended', async () => {
    const given = ports();
    const first = await given.take();
    expect(await given.take()).not.toBe(first);
  });

  it('start again at the beginning of their range after its end, and stay below those of outgoing connections', async () => {
    const given = new Ports(stateDir, () => 0.99999);
    const all = [await given.take(), await given.take()];
    expect(all[1]).toBeLessThan(all[0] ?? 0);
    for (const port of all) expect(port).toBeLessThan(15_000);
  });
});
