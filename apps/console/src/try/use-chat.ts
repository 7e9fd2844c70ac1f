'use client';

import { useCallback, useEffect, useRef, useState } from 'react';
import { bodyOf, type ChatMessage, type ImagePart, type TrySettings } from './request.ts';
import { type ApiRefusal, eventsOf, refusalOf, type TokenCounts } from './stream.ts';
import type { Timing } from './timing.ts';
import type { KeySource } from './use-page-key.ts';

export interface Chat {
  readonly messages: readonly ChatMessage[];
  /** Waiting for the first piece of an answer, or receiving it. */
  readonly state: 'idle' | 'waiting' | 'answering';
  readonly refusal: ApiRefusal | null;
  /** Why there is no key to send with. */
  readonly keyProblem: string | null;
  /** How the last answer ended, or that there is none. */
  readonly ending: string | null;
  readonly usage: TokenCounts | null;
  /** When the last answer came. Null: there is none yet. */
  readonly timing: Timing | null;
  /** Of the last request that was not refused. */
  readonly requestId: string | null;
  /** False: the request was refused or did not arrive, and the conversation is unchanged. */
  send(text: string, images: readonly ImagePart[], keys: KeySource, settings: TrySettings): Promise<boolean>;
  stop(): void;
  clear(): void;
}

type View = Omit<Chat, 'send' | 'stop' | 'clear'>;
const NOTHING: View = {
  messages: [],
  state: 'idle',
  refusal: null,
  keyProblem: null,
  ending: null,
  usage: null,
  timing: null,
  requestId: null,
};
const UNREACHABLE = 'The console could not be reached. Try again.';
type Show = (update: (now: View) => View) => void;

/** A conversation through the gateway. The key is not kept. Leaving the page ends the request. */
export function useChat(org: string): Chat {
  const [view, setView] = useState<View>(NOTHING);
  const abort = useRef<AbortController | null>(null);
  useEffect(() => () => abort.current?.abort(), []);

  const send: Chat['send'] = async (text, images, keys, settings) => {
    const controller = new AbortController();
    abort.current = controller;
    // Drops updates for a conversation that has been cleared.
    const show: Show = (update) => {
      if (abort.current === controller) setView(update);
    };
    const messages: readonly ChatMessage[] = [...view.messages, { role: 'user', text, images }];
    show(() => ({ ...NOTHING, messages, state: 'waiting' }));
    const sentAt = performance.now();
    let isAnswered = false;
    try {
      const request = { org, body: JSON.stringify(bodyOf(messages, settings)), signal: controller.signal };
      const response = await ask(keys, request);
      isAnswered = true;
      if (typeof response === 'string') {
        show(() => ({ ...NOTHING, messages: view.messages, keyProblem: response }));
        return false;
      }
      if (!response.ok || !response.body) {
        const refusal = await refusalOf(response);
        show(() => ({ ...NOTHING, messages: view.messages, refusal }));
        return false;
      }
      const requestId = response.headers.get('x-request-id');
      show((now) => ({ ...now, requestId }));
      await receive(response.body, messages, show, sentAt);
    } catch {
      if (!isAnswered && !controller.signal.aborted) {
        show(() => ({ ...NOTHING, messages: view.messages, ending: UNREACHABLE }));
        return false;
      }
      const ending = controller.signal.aborted
        ? 'Stopped.'
        : 'The connection was lost: the answer is incomplete.';
      show((now) => ({ ...now, state: 'idle', ending }));
    }
    return true;
  };
  const stop = useCallback(() => abort.current?.abort(), []);
  const clear = useCallback(() => {
    abort.current?.abort();
    abort.current = null;
    setView(NOTHING);
  }, []);
  return { ...view, send, stop, clear };
}

interface ChatRequest {
  readonly org: string;
  readonly body: string;
  readonly signal: AbortSignal;
}

/** Resolves to a text that says why, if there is no key. */
async function ask(keys: KeySource, request: ChatRequest): Promise<Response | string> {
  const key = await keys.get();
  if (!key.ok) return key.refusal.message;
  const response = await post(key.value, request);
  if (response.status !== 401 || !keys.drop(key.value)) return response;
  // The page's key has ended: an hour is over, or another page of the user has created one.
  const fresh = await keys.get();
  return fresh.ok ? post(fresh.value, request) : fresh.refusal.message;
}

const post = (key: string, { org, body, signal }: ChatRequest): Promise<Response> =>
  fetch(`/o/${org}/try/chat`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body,
    signal,
  });

async function receive(
  body: ReadableStream<Uint8Array>,
  messages: readonly ChatMessage[],
  show: Show,
  sentAt: number,
): Promise<void> {
  let firstAt: number | null = null;
  let text = '';
  let reason = '';
  let complete = false;
  for await (const event of eventsOf(body)) {
    if (event.kind === 'text') {
      firstAt ??= performance.now();
      text += event.text;
      const answer: ChatMessage = { role: 'assistant', text, images: [] };
      show((now) => ({ ...now, state: 'answering', messages: [...messages, answer] }));
    } else if (event.kind === 'usage') show((now) => ({ ...now, usage: event.usage }));
    else if (event.kind === 'finish') reason = event.reason;
    else complete = true;
  }
  const ending = complete
    ? reason === 'length'
      ? 'Cut off at the longest answer allowed (max_tokens).'
      : null
    : 'The stream ended without [DONE]: the answer is incomplete.';
  const timing = { sentAt, firstAt, endedAt: performance.now() };
  show((now) => ({ ...now, state: 'idle', ending, timing }));
}
