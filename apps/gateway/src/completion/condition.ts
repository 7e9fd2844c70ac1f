import { newRefusal, type Refusal } from '@tidegate/contracts';
import { LIMITS } from '@tidegate/limits';
import { type CatalogModel, isAlwaysOn } from '../catalog/catalog.ts';
import { MODEL_UNAVAILABLE } from '../refusals.ts';

/**
 * Whether the model can be called now, can be called after a wake, or cannot be called
 * (docs/conformance.md, "States and transitions").
 */
export function checkCondition(model: CatalogModel): 'ready' | 'wake' | Refusal {
  switch (model.condition) {
    case 'CONDITION_RUNNING':
      return model.replicas.length > 0 ? 'ready' : MODEL_UNAVAILABLE;
    case 'CONDITION_STARTING':
    case 'CONDITION_ASLEEP':
      return isAlwaysOn(model) ? ALWAYS_ON_STARTING : 'wake';
    case 'CONDITION_FAILED':
      // There may have been nothing to start: its servers may belong to someone else.
      if (isAlwaysOn(model)) return MODEL_UNAVAILABLE;
      return model.wakeable ? 'wake' : COULD_NOT_START;
    case 'CONDITION_STOPPED':
      return STOPPED;
    default:
      return MODEL_UNAVAILABLE;
  }
}

export const STOPPED = newRefusal({
  code: 'model_unavailable',
  message: 'The model is stopped. An owner can start it.',
  shouldRetry: false,
});

export const COULD_NOT_START = newRefusal({
  code: 'model_unavailable',
  message: 'The model could not be started.',
  shouldRetry: false,
});

const ALWAYS_ON_STARTING = newRefusal({
  code: 'model_starting',
  message: 'The model is starting.',
  retryAfterS: LIMITS.retryAfterSeconds.alwaysOnStarting,
});

export const STILL_STARTING = newRefusal({
  code: 'model_starting',
  message: 'The model is starting and was not ready within a minute.',
  retryAfterS: LIMITS.retryAfterSeconds.wakeOnRequestStarting,
});
