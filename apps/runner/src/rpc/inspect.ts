import { status } from '@grpc/grpc-js';
import type { InspectRequest__Output, InspectResponse, RunnerHandlers } from '@tidegate/rpc';
import { KEY_DOES_NOT_OPEN } from '../catalog/spec.ts';
import type { ModelStore } from '../catalog/store.ts';
import { checkServer } from '../drivers/probe/check.ts';

const AT_ONCE = 64;

export interface InspectOptions {
  readonly store: Pick<ModelStore, 'upstreamKey'>;
  /** How long each of a server's answers may take. */
  readonly timeoutMs: number;
}

/** Answers Inspect calls. */
export function inspectHandler(options: InspectOptions): RunnerHandlers['Inspect'] {
  let running = 0;
  return (call, callback) => {
    if (running >= AT_ONCE) {
      callback({ code: status.RESOURCE_EXHAUSTED, details: 'too many servers are being checked' });
      return;
    }
    running++;
    const gone = new AbortController();
    call.on('cancelled', () => gone.abort());
    void inspect(call.request, options, gone.signal)
      .then(
        (found) => (found ? callback(null, found) : callback(UNKNOWN)),
        () => callback({ code: status.UNAVAILABLE, details: 'the runner cannot do that right now' }),
      )
      .finally(() => {
        running--;
      });
  };
}

const UNKNOWN = { code: status.NOT_FOUND, details: 'no such model' };

/** Null: the model whose key is wanted is not published. */
async function inspect(
  {
    baseUrl,
    upstreamModel: name,
    upstreamModelAssumed: nameAssumed,
    healthPath,
    ...given
  }: InspectRequest__Output,
  { store, timeoutMs }: InspectOptions,
  signal: AbortSignal,
): Promise<InspectResponse | null> {
  const key = given.upstreamKeyOf ? await store.upstreamKey(given.upstreamKeyOf) : given.upstreamKey;
  if (key === undefined) return null;
  if (key === null) return { problem: KEY_DOES_NOT_OPEN };
  const checked = await checkServer({ baseUrl, name, nameAssumed, key, healthPath, timeoutMs }, signal);
  const { server, version, models = [] } = checked.described ?? {};
  return {
    problem: checked.problem,
    server: server ?? '',
    version: version ?? '',
    models: models
      .filter(({ chats }) => chats)
      .map(({ id, contextTokens = 0, vision }) => ({ name: id, contextTokens, vision })),
  };
}
