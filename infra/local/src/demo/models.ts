import { join } from 'node:path';
import { freePort } from '@tidegate/embedded';
import { type Files, STANDIN } from '../files.ts';
import type { ModelsPlace } from '../models-place.ts';
import { answersOk, type ProcessSpec } from '../process/process.ts';
import { inherited } from '../services.ts';

const HOST = '127.0.0.1';
const CONTEXT_TOKENS = 8_192;
/** Short, so that users can watch it fall asleep. */
const SLEEP_AFTER_S = 30;
const STOP_TIMEOUT_MS = 5_000;

/** The demo organization's models, each served by a stand-in. */
export const DEMO_MODELS = [
  { name: 'demo-text', kind: 'text', mode: 'always_on' },
  { name: 'demo-wake', kind: 'text', mode: 'wake_on_request' },
  { name: 'demo-vision', kind: 'vision', mode: 'always_on' },
] as const;

export type DemoModel = (typeof DEMO_MODELS)[number];

/** A stand-in that the stack runs, for a model that is always on. */
export interface StandinPlan {
  readonly model: DemoModel;
  readonly port: number;
}

export async function planStandins(): Promise<StandinPlan[]> {
  const plans: StandinPlan[] = [];
  for (const model of DEMO_MODELS) {
    if (model.mode === 'always_on') plans.push({ model, port: await freePort() });
  }
  return plans;
}

const standinUrl = ({ port }: StandinPlan): string => `http://${HOST}:${port}/v1`;

export function standinProcess({ model, port }: StandinPlan, root: string, files: Files): ProcessSpec {
  return {
    name: model.name,
    command: process.execPath,
    args: [STANDIN, '--port', String(port), ...standinFlags(model)],
    cwd: root,
    env: inherited(),
    logFile: join(files.logs, `${model.name}.log`),
    ready: answersOk(`http://${HOST}:${port}/health`),
    stopTimeoutMs: STOP_TIMEOUT_MS,
  };
}

const standinFlags = ({ name, kind }: DemoModel): string[] => [
  ...['--name', name],
  ...['--kind', kind],
  ...['--context', String(CONTEXT_TOKENS)],
];

export type DemoPublication = DemoModel & { readonly contextTokens: number } & (
    | { readonly urls: string[]; readonly command?: undefined }
    | {
        readonly urls?: undefined;
        readonly command: string;
        readonly healthPath: string;
        readonly sleepAfterS: number;
      }
  );

/**
 * The settings to publish a demo model with: the URL of its stand-in, or the command with which the
 * runner starts it.
 */
export function publication(
  model: DemoModel,
  plans: readonly StandinPlan[],
  { node, standin }: ModelsPlace,
): DemoPublication {
  const plan = plans.find((candidate) => candidate.model === model);
  const common = { ...model, contextTokens: CONTEXT_TOKENS };
  if (plan) return { ...common, urls: [standinUrl(plan)] };
  const program = [node, standin].map(quoted).join(' ');
  const command = `exec ${program} --port $PORT ${standinFlags(model).join(' ')}`;
  return { ...common, command, healthPath: '/health', sleepAfterS: SLEEP_AFTER_S };
}

const quoted = (path: string): string => `'${path.replaceAll("'", `'\\''`)}'`;
