import type { ModelNow } from '@tidegate/control';
import { firstUsable } from '../models/first-usable.ts';

export interface Progress {
  readonly models: readonly Pick<ModelNow, 'name' | 'condition' | 'conditionReason' | 'replicas'>[];
  /** The names of keys that work. */
  readonly keys: readonly string[];
  /** Counted requests of the last 30 days. */
  readonly requests: number;
  /** Those of them without a complete answer. */
  readonly errors: number;
}

export interface GuideStep {
  readonly done: boolean;
  /** What has happened, or is awaited. */
  readonly says: string;
}

/** The steps from an empty organization to its first answer. Each is done when it has happened. */
export function stepsOf(begun: Progress): {
  readonly model: GuideStep;
  readonly key: GuideStep;
  readonly request: GuideStep;
} {
  return { model: modelStep(begun), key: keyStep(begun), request: requestStep(begun) };
}

function modelStep({ models }: Progress): GuideStep {
  const [first] = models;
  const shown = firstUsable(models) ?? first;
  if (!shown) return { done: false, says: 'No model is published yet.' };
  const { name, condition, conditionReason, replicas } = shown;
  if (condition === 'running') {
    const up = replicas ? `, ${replicas.up} of ${replicas.total} up` : '';
    return { done: true, says: `${name} is running${up}.` };
  }
  if (condition === 'asleep')
    return { done: true, says: `${name} is asleep. It wakes with the first request.` };
  const [why] = (conditionReason ?? '').split('\n');
  const state = condition === 'failed' ? 'cannot be called' : `is ${condition}`;
  return { done: false, says: `${name} ${state}.${why ? ` ${why}` : ''}` };
}

function keyStep({ keys: [first, ...others] }: Progress): GuideStep {
  if (first === undefined) return { done: false, says: 'There is no key yet.' };
  return { done: true, says: others.length > 0 ? `${others.length + 1} keys work.` : `${first} works.` };
}

function requestStep({ requests, errors }: Progress): GuideStep {
  if (requests > errors) return { done: true, says: 'The first answer has been given.' };
  if (requests === 0) return { done: false, says: 'Waiting for the first request.' };
  return { done: false, says: 'A request has arrived, but ended without a complete answer.' };
}
