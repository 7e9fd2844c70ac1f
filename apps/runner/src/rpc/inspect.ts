import { status } from '@grpc/grpc-js';
import { MAX_REPLICAS } from '@tidegate/contracts/driver-settings';
import type { InspectRequest__Output, InspectResponse, RunnerHandlers } from '@tidegate/rpc';
import type { Logger } from '@tidegate/runtime';
import { KEY_CANNOT_BE_UNSEALED } from '../catalog/spec.ts';
import type { ModelStore } from '../catalog/store.ts';
import { checkServer } from '../drivers/probe/check.ts';
import { Status, toStatus, UNKNOWN_MODEL } from './status.ts';

const AT_ONCE = 128;
/** So that no organization locks out the others. As many as a model may have servers. */
const AT_ONCE_OF_ORG = MAX_REPLICAS;

export interface InspectOptions {
  readonly store: Pick<ModelStore, 'upstreamKey'>;
  /** How long each of a server's answers may take. */
  readonly timeoutMs: number;
  readonly logger: Logger;
}

/** Answers Inspect calls. */
export function inspectHandler(options: InspectOptions): RunnerHandlers['Inspect'] {
  let running = 0;
  const runningOf = new Map<string, number>();
  return (call, callback) => {
    const { orgId } = call.request;
    const ofOrg = runningOf.get(orgId) ?? 0;
    if (running >= AT_ONCE || ofOrg >= AT_ONCE_OF_ORG) {
      callback(TOO_MANY());
      return;
    }
    running++;
    runningOf.set(orgId, ofOrg + 1);
    const gone = new AbortController();
    call.on('cancelled', () => gone.abort());
    void inspect(call.request, options, gone.signal)
      .then(
        (found) => callback(null, found),
        (err: unknown) => callback(toStatus(err, options.logger)),
      )
      .finally(() => {
        running--;
        const left = (runningOf.get(orgId) ?? 0) - 1;
        if (left > 0) runningOf.set(orgId, left);
        else runningOf.delete(orgId);
      });
  };
}

const TOO_MANY = () => new Status(status.RESOURCE_EXHAUSTED, 'too many servers are being checked');

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
): Promise<InspectResponse> {
  const key = given.upstreamKeyOf ? await store.upstreamKey(given.upstreamKeyOf) : given.upstreamKey;
  if (key === undefined) throw UNKNOWN_MODEL();
  if (key === null) return { problem: KEY_CANNOT_BE_UNSEALED };
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
