import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { type Stack, startStack } from '@tidegate/local';
import { eventually } from '@tidegate/testing';
import { watchGateways } from '../support/conformance/watch.ts';
import { closeControl } from '../support/control.ts';
import { ask, client } from '../support/org.ts';
import { usageOf } from '../support/stack.ts';
import { PATIENT } from '../support/test-stack.mjs';

/** A whole stack starts twice. */
const TEST_TIMEOUT_MS = 600_000;

describe('a stack that is stopped and started again', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tidegate-restart-'));
  let running: Stack | undefined;
  watchGateways(() => running?.info.gateways ?? []);
  const start = async (): Promise<Stack> => {
    running = await startStack({ dataDir, ports: 'random', console: false, env: { gateway: PATIENT } });
    return running;
  };
  const stop = async (): Promise<void> => {
    const stack = running;
    // The gateways of a stopped stack must not be watched.
    running = undefined;
    if (!stack) return;
    await closeControl(stack);
    await stack.stop();
  };
  afterAll(async () => {
    await stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it(
    'has its key, usage and quota as they were',
    async () => {
      const first = await start();
      const org = first.info.org ?? '';
      const apiKey = first.info.apiKey ?? '';
      await client(first.info.gateway, apiKey).chat.completions.create(ask('demo-text', 'Remember me'));
      await eventually(async () => (await usageOf(first, org)).totals.requests === 1);
      const before = await usageOf(first, org);
      await stop();

      const second = await start();
      expect(second.info.apiKey).toBe(apiKey);
      expect(await usageOf(second, org)).toEqual(before);
      const api = client(second.info.gateway, apiKey);
      expect((await api.chat.completions.create(ask('demo-text', 'Still here?'))).model).toBe('demo-text');
    },
    TEST_TIMEOUT_MS,
  );
});
