import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate, setTimeout } from 'node:timers/promises';
import type { Behaviour } from './behaviour.ts';
import type { UpstreamError } from './errors.ts';
import { faultOf, INBAND_ERROR, type StandinFault } from './fault.ts';
import type { CallEnd } from './stats.ts';
import { HELD, type Step } from './stream.ts';

/** Events without a pause between them are written together, up to this size. */
const WRITE_CHARACTERS = 16_384;

/** One call, as the code that answers it sees it. */
export interface StandinExchange {
  readonly response: ServerResponse;
  /** Aborted when the caller is gone, or when everything was sent. */
  readonly gone: AbortSignal;
  /**
   * Counts the end of the call. Called before the last byte is sent, so that a call whose complete
   * answer has arrived is no longer in flight.
   */
  readonly end: (end: CallEnd) => void;
  /** Resolves at the next release. Rejects when the caller is gone. */
  readonly released: () => Promise<unknown>;
  /** Ends the process. */
  readonly exit: () => void;
}

export const pauseFor = (ms: number, { gone }: StandinExchange): Promise<void> =>
  setTimeout(ms, undefined, { signal: gone }) as Promise<void>;

/** Sends nothing until the caller is gone. */
export async function stall({ gone }: StandinExchange): Promise<void> {
  if (!gone.aborted) await once(gone, 'abort');
}

export function sendError({ response, end }: StandinExchange, { status, body }: UpstreamError): void {
  end('refused');
  const json = typeof body !== 'string';
  const text = json ? JSON.stringify(body) : body;
  response.writeHead(status, {
    'content-type': json ? 'application/json' : 'text/plain',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}

export async function sendWhole(
  exchange: StandinExchange,
  body: object,
  behaviour: Behaviour,
  answered: () => void,
): Promise<void> {
  const { response, end } = exchange;
  const fault = faultOf(behaviour);
  const full = JSON.stringify(fault === 'inband-error' ? INBAND_ERROR : body);
  const text = fault === 'garbage' ? full.slice(0, full.length / 2) : full;
  const breaks = fault === 'stall' || fault === 'die' || fault === 'exit';
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  if (breaks) {
    await write(exchange, text.slice(0, text.length / 2), behaviour);
    await breakOff(exchange, fault);
    return;
  }
  answered();
  if (behaviour['split-bytes']) await write(exchange, text, behaviour);
  end(fault ? 'brokenOff' : 'answered');
  response.end(behaviour['split-bytes'] ? undefined : text);
}

export async function sendStream(
  exchange: StandinExchange,
  steps: Iterable<Step>,
  behaviour: Behaviour,
  answered: () => void,
): Promise<void> {
  const { response, end } = exchange;
  const newline = behaviour.crlf ? '\r\n' : '\n';
  const lead = behaviour.comments ? `: keep-alive${newline}${newline}data: ` : 'data: ';
  const tail = newline + newline;
  let block = '';
  let broken = false;
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  response.flushHeaders();
  for (const step of steps) {
    if (typeof step === 'string') {
      block += lead + step + tail;
      if (block.length < WRITE_CHARACTERS) continue;
    }
    if (block !== '') await write(exchange, block, behaviour);
    block = '';
    if (typeof step === 'number') await pauseFor(step, exchange);
    else if (step === HELD) await exchange.released();
    else if (typeof step === 'object') {
      broken = true;
      if (await breakOff(exchange, step.fault)) return;
    }
  }
  answered();
  if (behaviour['split-bytes'] || behaviour.linger) {
    await write(exchange, block, behaviour);
    block = '';
  }
  if (behaviour.linger) await stall(exchange);
  end(broken ? 'brokenOff' : 'answered');
  response.end(block);
}

/** Resolves to true if nothing more may be sent. */
async function breakOff(exchange: StandinExchange, fault: StandinFault): Promise<boolean> {
  if (fault === 'inband-error' || fault === 'garbage') return false;
  if (fault === 'stall') await stall(exchange);
  else {
    await setImmediate();
    exchange.end('brokenOff');
    if (fault === 'die') exchange.response.socket?.resetAndDestroy();
    else exchange.exit();
  }
  return true;
}

async function write(exchange: StandinExchange, text: string, behaviour: Behaviour): Promise<void> {
  const size = behaviour['split-bytes'];
  if (!size) return writeBlock(exchange, text);
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) {
    await writeBlock(exchange, bytes.subarray(at, at + size));
    await setImmediate();
  }
}

async function writeBlock({ response, gone }: StandinExchange, block: string | Buffer): Promise<void> {
  gone.throwIfAborted();
  if (!response.write(block)) await once(response, 'drain', { signal: gone });
}
