import { status } from '@grpc/grpc-js';
import type { RunnerHandlers } from '@tidegate/rpc';
import { checkServer } from '../drivers/probe/check.ts';

const AT_ONCE = 64;

/** Answers Inspect calls. `timeoutMs`: how long each of a server's answers may take. */
export function inspectHandler(timeoutMs: number): RunnerHandlers['Inspect'] {
  let running = 0;
  return (call, callback) => {
    if (running >= AT_ONCE) {
      callback({ code: status.RESOURCE_EXHAUSTED, details: 'too many servers are being checked' });
      return;
    }
    running++;
    const gone = new AbortController();
    call.on('cancelled', () => gone.abort());
    const {
      baseUrl,
      upstreamModel: name,
      upstreamModelAssumed: nameAssumed,
      upstreamKey: key,
    } = call.request;
    const checked = checkServer({ baseUrl, name, nameAssumed, key, timeoutMs }, gone.signal);
    void checked
      .then(
        ({ problem, described }) =>
          callback(null, {
            problem,
            server: described?.server ?? '',
            version: described?.version ?? '',
            models: (described?.models ?? [])
              .filter(({ chats }) => chats)
              .map(({ id, contextTokens = 0, vision }) => ({ name: id, contextTokens, vision })),
          }),
        () => callback({ code: status.UNAVAILABLE, details: 'the runner cannot do that right now' }),
      )
      .finally(() => {
        running--;
      });
  };
}
