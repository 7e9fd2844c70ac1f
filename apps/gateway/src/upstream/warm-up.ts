import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { buildUpstreamBody, type CompletionRequest, isRefusal } from '@tidegate/contracts';
import type { Dispatcher } from 'undici';
import { parseBody } from '../body/parse-body.ts';
import { send } from './send.ts';
import { AMPLE_MEMORY } from './upstream-call.ts';
import { WholeCall } from './whole-call.ts';

const HOST = '127.0.0.1';
/**
 * Several, because V8 would rely on whatever holds for a single one, and would drop the optimized
 * code when the model's own server comes.
 */
const SERVERS = 16;
const BURSTS = 6;
/**
 * A crowd puts as many reservations into one message: those of two turns of the event loop. A long
 * message takes another path than a short one. They are few enough that a turn stays short for
 * other requests.
 */
const AT_ONCE = 64;
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
 * Runs the path by which a waiting request is forwarded, many times over: it reserves, then calls a
 * stub server in this process over a new connection. So V8 has optimized that path, here and in the
 * limiter, before a crowd of requests is forwarded. Optimizing it at the same time would take as
 * much CPU again. Nothing is admitted, counted or logged. Never rejects: if it fails, the crowd is
 * only forwarded more slowly.
 *
 * @param reserve rehearses a reservation; never rejects
 * @param isAwaited once it returns false, no further burst of calls is begun
 * @param timeoutMs for each call
 * @returns the number of calls that were answered
 */
export async function warmUp(
  upstream: Dispatcher,
  reserve: () => Promise<void>,
  isAwaited: () => boolean,
  timeoutMs = CALL_TIMEOUT_MS,
): Promise<number> {
  const request = parseBody(ASKED);
  if (isRefusal(request)) return 0;
  const call = async (port: number) => {
    await reserve();
    return callStub(upstream, port, request, timeoutMs);
  };
  let answered = 0;
  for (let server = 0; server < SERVERS && isAwaited(); server++)
    answered += await callServer(call, isAwaited, timeoutMs);
  return answered;
}

/** Starts a stub server and calls it. Resolves to the number of calls that it answered. */
async function callServer(
  call: (port: number) => Promise<boolean>,
  isAwaited: () => boolean,
  timeoutMs: number,
): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    // Another process on this machine may connect and send nothing.
    socket.setTimeout(timeoutMs, () => socket.destroy());
    socket.once('data', () => socket.end(ANSWER));
  });
  // Without a free descriptor, calls stay unanswered until their time is up.
  server.on('error', () => {});
  try {
    await once(server.listen(0, HOST), 'listening');
  } catch {
    // A sandbox may forbid listening.
    return 0;
  }
  const { port } = server.address() as AddressInfo;
  let answered = 0;
  for (let burst = 0; burst < BURSTS && isAwaited(); burst++) {
    const calls = await Promise.all(Array.from({ length: AT_ONCE }, () => call(port)));
    answered += calls.filter(Boolean).length;
  }
  server.close();
  return answered;
}

/**
 * Calls the stub just as a real request calls a model: V8 drops optimized code when it meets
 * objects of another shape.
 */
async function callStub(
  upstream: Dispatcher,
  port: number,
  request: CompletionRequest,
  timeoutMs: number,
): Promise<boolean> {
  const body = buildUpstreamBody(request, request.model, []);
  const call = new WholeCall(IDENTITY, { timeoutMs, maxBytes: 2 * BODY.length }, '', AMPLE_MEMORY);
  const baseUrl = `http://${HOST}:${port}/v1`;
  send(upstream, baseUrl, { body, key: '', requestId: 'warm-up', streamed: request.stream }, call);
  return (await call.outcome).kind === 'whole';
}
