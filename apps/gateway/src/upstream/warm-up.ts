import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { buildUpstreamBody, type CompletionRequest, isRefusal } from '@tidegate/contracts';
import type { Dispatcher } from 'undici';
import { parseBody } from '../body/parse-body.ts';
import { send } from './send.ts';
import { WholeCall } from './whole-call.ts';

const HOST = '127.0.0.1';
const CALLS = 3_000;
/** Few enough that a turn of the event loop stays short for other requests. */
const AT_ONCE = 32;
const CALL_TIMEOUT_MS = 1_000;

const ASKED = Buffer.from('{"model":"warm-up","messages":[{"role":"user","content":"Hi"}]}');
const IDENTITY = { completionId: 'chatcmpl-warm-up', createdS: 0, model: 'warm-up', reservedTokens: 2 };
const BODY = JSON.stringify({
  choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});
const HEAD = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${BODY.length}`;
const ANSWER = `${HEAD}\r\nconnection: close\r\n\r\n${BODY}`;

/**
 * Runs many times the path that forwards a waiting request: reserves, then calls a stub server in
 * this process over a new connection. V8 has then optimized that path, here and in the limiter,
 * before a crowd of requests is forwarded. Nothing is admitted, counted or logged. Never rejects:
 * without it, the crowd is forwarded more slowly.
 *
 * @param reserve rehearses a reservation; never rejects
 * @param goOn false: no further call is begun
 * @returns the number of calls that were answered
 */
export async function warmUp(
  upstream: Dispatcher,
  reserve: () => Promise<void>,
  goOn: () => boolean,
): Promise<number> {
  const request = await parseBody(ASKED);
  if (isRefusal(request)) return 0;
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    // Somebody else on this machine may connect, and say nothing.
    socket.setTimeout(CALL_TIMEOUT_MS, () => socket.destroy());
    socket.once('data', () => socket.end(ANSWER));
  });
  // Without a free descriptor, calls stay unanswered until their time is up.
  server.on('error', () => {});
  try {
    await once(server.listen(0, HOST), 'listening');
  } catch {
    // A sandbox may forbid it.
    return 0;
  }
  const { port } = server.address() as AddressInfo;
  let begun = 0;
  let answered = 0;
  const caller = async () => {
    while (begun < CALLS && goOn()) {
      begun++;
      await reserve();
      if (await isAnswered(upstream, port, request)) answered++;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, caller));
  server.close();
  return answered;
}

/**
 * Calls the model as for a real request: V8 drops optimized code when it meets objects of another
 * shape.
 */
async function isAnswered(upstream: Dispatcher, port: number, request: CompletionRequest): Promise<boolean> {
  const body = buildUpstreamBody(request, { model: request.model, includeUsage: true }, []);
  const call = new WholeCall(IDENTITY, { timeoutMs: CALL_TIMEOUT_MS, maxBytes: 2 * BODY.length });
  const baseUrl = `http://${HOST}:${port}/v1`;
  send(upstream, baseUrl, { body, key: '', requestId: 'warm-up', streamed: request.stream }, call);
  return (await call.outcome).kind === 'whole';
}
