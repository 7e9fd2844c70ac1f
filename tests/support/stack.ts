import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll } from '@jest/globals';
import type { ListedModelView, UsageView } from '@tidegate/control';
import type { Stack } from '@tidegate/local';
import { testEnv } from '@tidegate/testing';
import { watchGateways } from './conformance/watch.ts';
import { closeControl, controlOf, ctlVariables, must, OPERATOR, type Reachable } from './control.ts';
import { type OwnGateway, type RunningGateway, startGateway } from './gateway.ts';
import { startTestStack, type TestStackOptions } from './test-stack.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Starts a stack for one file's tests, with its own data and ports, and without a console unless
 * `console` asks for it. Call the result for the stack, inside tests. Everything that the tests
 * exchange with its gateways is checked against the API's description.
 */
export function useStack(options: TestStackOptions | (() => Promise<TestStackOptions>) = {}): () => Stack {
  let started: Awaited<ReturnType<typeof startTestStack>> | undefined;
  return useReachable(
    async () => {
      started = await startTestStack(typeof options === 'function' ? await options() : options);
      return started.stack;
    },
    () => started?.end(),
  );
}

/**
 * Gives the tests of one file the stack that the whole run shares, with two gateways, two limiters
 * and a console. Other files use it at the same time. So tests must keep to organizations of their
 * own, and to a few invalid keys for each address: 20 in a minute block it. Otherwise like
 * `useStack`.
 *
 * @param own Instead of the stack's gateways, tests get one with these variables, for them alone.
 */
export function useSharedStack(own?: OwnGateway): () => Reachable {
  let gateway: RunningGateway | undefined;
  return useReachable(
    async () => {
      const answer = await fetch(testEnv('sharedStack'));
      if (!answer.ok) throw new Error(`the shared stack did not start: ${await answer.text()}`);
      const shared = (await answer.json()) as Reachable;
      if (!own) return shared;
      gateway = await startGateway(shared, own);
      return behind(gateway, shared);
    },
    () => gateway?.stop(),
  );
}

function behind({ url, service }: RunningGateway, { info, dataDir }: Reachable): Reachable {
  const services = [service, ...info.services.filter(({ name }) => name !== 'gateway')];
  return { info: { ...info, gateway: url, gateways: [url], services }, dataDir };
}

function useReachable<S extends Reachable>(open: () => Promise<S>, end?: () => unknown): () => S {
  let stack: S | undefined;
  watchGateways(() => stack?.info.gateways ?? []);
  beforeAll(async () => {
    stack = await open();
  });
  afterAll(async () => {
    if (stack) await closeControl(stack);
    await end?.();
  });
  return () => {
    if (!stack) throw new Error('the stack has not been started');
    return stack;
  };
}

/**
 * Runs `ctl` on a stack. Resolves to the JSON document that it prints. Rejects with its reason if
 * it refuses.
 */
export function ctl<T = unknown>(stack: Reachable, ...args: string[]): Promise<T> {
  const env = { ...process.env, ...ctlVariables(stack) };
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      ['apps/ctl/dist/main.js', ...args, '--json'],
      { cwd: ROOT, env },
      (error, stdout, stderr) =>
        error ? reject(new Error(stderr || error.message)) : resolve(JSON.parse(stdout)),
    );
  });
}

/** The output of `ctl usage show`. */
export const usageOf = async (stack: Reachable, org: string): Promise<UsageView> =>
  must(await controlOf(stack).showUsage(OPERATOR, { org }));

/** The organization's models, as `ctl model list` prints them. */
export const modelsOf = async (stack: Reachable, org: string): Promise<readonly ListedModelView[]> =>
  must(await controlOf(stack).listModels(OPERATOR, { org }));
