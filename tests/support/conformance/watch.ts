import { afterAll, afterEach } from '@jest/globals';
import { problemsOf, type RecordedExchange } from './exchange.ts';

/*
 * Checks everything that a file's tests exchange with its gateways against docs/openapi.yaml: what
 * goes through `fetch`, and so through client libraries, and what goes through `call`, `open` and
 * `wire`. A test with any difference fails.
 */

type Beginning = Omit<RecordedExchange, 'body' | 'over'>;

/** An answer that is being received. */
export interface Recording {
  add(piece: Uint8Array): void;
  /** The server has ended the answer. */
  end(): void;
}

const gatewaysOf: (() => readonly string[])[] = [];
const unfinished = new Set<{ judge(): void }>();
let problems: string[] = [];
let plainFetch: typeof fetch | null = null;

/** Watches gateways in all tests of this file. `gateways` is called each time. */
export function watchGateways(gateways: () => readonly string[]): void {
  gatewaysOf.push(gateways);
  if (plainFetch) return;
  plainFetch = globalThis.fetch;
  globalThis.fetch = watchedFetch;
  afterEach(failOnProblems);
  afterAll(() => {
    failOnProblems();
    if (plainFetch) globalThis.fetch = plainFetch;
  });
}

/**
 * Throws the differences since the last call. Unfinished answers are checked as far as they came.
 */
function failOnProblems(): void {
  for (const recording of unfinished) recording.judge();
  const found = problems;
  problems = [];
  if (found.length > 0) throw new Error(`not as docs/openapi.yaml says:\n${found.join('\n')}`);
}

export function isWatched(url: URL): boolean {
  return gatewaysOf.some((gateways) => gateways().some((gateway) => new URL(gateway).origin === url.origin));
}

export function record(beginning: Beginning): Recording {
  const pieces: Uint8Array[] = [];
  let judged = false;
  const judge = (over: boolean) => {
    unfinished.delete(recording);
    if (judged) return;
    judged = true;
    const body = Buffer.concat(pieces).toString();
    const { method, target, status } = beginning;
    for (const problem of problemsOf({ ...beginning, body, over })) {
      problems.push(`${method} ${target.slice(0, 80)} → ${status}: ${problem}\n  ${body.slice(0, 300)}`);
    }
  };
  const recording = {
    add: (piece: Uint8Array) => void pieces.push(piece),
    end: () => judge(true),
    judge: () => judge(false),
  };
  unfinished.add(recording);
  return recording;
}

async function watchedFetch(...[input, init]: Parameters<typeof fetch>): Promise<Response> {
  const url = new URL(input instanceof Request ? input.url : input);
  const response = await (plainFetch as typeof fetch)(input, init);
  if (!isWatched(url)) return response;
  const sent = init?.body;
  const recording = record({
    method: init?.method ?? (input instanceof Request ? input.method : 'GET'),
    target: url.pathname + url.search,
    sent: typeof sent === 'string' || sent instanceof Uint8Array ? sent : undefined,
    status: response.status,
    headers: Object.fromEntries(response.headers),
  });
  if (!response.body) {
    recording.end();
    return response;
  }
  const seen = new TransformStream<Uint8Array, Uint8Array>({
    transform: (piece, controller) => {
      recording.add(piece);
      controller.enqueue(piece);
    },
    flush: () => recording.end(),
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(seen), { status, statusText, headers });
}
