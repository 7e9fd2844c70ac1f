import { newRefusal, type Refusal } from '@tidegate/contracts';

export const COMPLETIONS_PATH = '/v1/chat/completions';
export const MODELS_PATH = '/v1/models';

/** The one method that each path takes. */
const METHODS: ReadonlyMap<string, string> = new Map([
  [COMPLETIONS_PATH, 'POST'],
  [MODELS_PATH, 'GET'],
]);

const NOT_FOUND = newRefusal({
  code: 'not_found',
  message: `Unknown path. This API has POST ${COMPLETIONS_PATH} and GET ${MODELS_PATH}.`,
});

export interface Misrouted {
  readonly refusal: Refusal;
  /** For the Allow header. Undefined: the path is unknown. */
  readonly allow?: string;
}

/** The answer to a request that no route takes. */
export function misrouted(path: string | undefined): Misrouted {
  const allow = path === undefined ? undefined : METHODS.get(path);
  if (allow === undefined) return { refusal: NOT_FOUND };
  const message = `This path takes ${allow} only.`;
  return { refusal: newRefusal({ code: 'method_not_allowed', message }), allow };
}
