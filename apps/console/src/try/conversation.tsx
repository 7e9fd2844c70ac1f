'use client';

import { Button, Spinner } from '@heroui/react';
import { useEffect, useRef } from 'react';
import { requestQueryOf } from '../requests/filter.ts';
import { signInPath } from '../session/next-path.ts';
import { SIGNED_OUT } from '../session/words.ts';
import { Link } from '../ui/link.tsx';
import { whole } from '../ui/numbers.ts';
import { Note } from '../ui/page.tsx';
import { AnswerText } from './markdown.tsx';
import type { ChatMessage } from './request.ts';
import type { ApiRefusal } from './stream.ts';
import { timingText } from './timing.ts';
import type { Chat } from './use-chat.ts';

/** About two lines. */
const NEAR_END_PX = 48;

interface ConversationProps {
  readonly org: string;
  readonly chat: Chat;
  /** What to do first, while nothing has been said. */
  readonly hint: string;
  /** Shows the field for a key. */
  readonly onPaste: () => void;
}

export function Conversation({ org, chat, hint, onPaste }: ConversationProps) {
  const log = useRef<HTMLDivElement>(null);
  const shownPx = useRef(0);
  const last = chat.messages.at(-1)?.text.length ?? 0;
  const isSent = chat.messages.at(-1)?.role === 'user';
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls when the content grows
  useEffect(() => {
    if (!log.current) return;
    const { scrollTop, clientHeight, scrollHeight } = log.current;
    // Whoever has scrolled up reads what is there.
    const isAtEnd = scrollTop + clientHeight >= shownPx.current - NEAR_END_PX;
    if (isSent || isAtEnd) log.current.scrollTo({ top: scrollHeight });
    shownPx.current = scrollHeight;
  }, [chat.messages.length, last, chat.refusal, chat.keyProblem]);
  return (
    <div
      ref={log}
      className="max-h-[34rem] flex-1 space-y-5 overflow-y-auto px-5 py-5"
      role="log"
      aria-label="Messages"
      aria-busy={chat.state !== 'idle'}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: without it a keyboard cannot scroll
      tabIndex={0}
    >
      {chat.messages.length === 0 && !chat.refusal && chat.keyProblem === null ? (
        <p className="pt-24 text-center text-sm text-muted">{hint}</p>
      ) : null}
      {chat.messages.map((message, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: messages are only ever appended
        <Message key={i} message={message} />
      ))}
      {chat.state === 'waiting' ? (
        <p className="flex items-center gap-2 text-sm text-muted">
          <Spinner size="sm" aria-label="Waiting" />
          Waiting for the first words. A sleeping model may take up to a minute to wake.
        </p>
      ) : null}
      {chat.keyProblem === null ? null : chat.keyProblem === SIGNED_OUT ? (
        <SignedOut org={org} />
      ) : (
        <Note kind="danger">
          <p>{chat.keyProblem}</p>
          <Button variant="secondary" size="sm" className="mt-2" onPress={onPaste}>
            Paste a key instead
          </Button>
        </Note>
      )}
      {chat.refusal === null ? null : chat.refusal.message === SIGNED_OUT ? (
        <SignedOut org={org} />
      ) : (
        <Refused refusal={chat.refusal} />
      )}
      {chat.ending ? <p className="text-[0.8125rem] text-muted">{chat.ending}</p> : null}
      {chat.usage && chat.state === 'idle' ? (
        <p className="text-xs text-muted tabular-nums">
          {whole(chat.usage.prompt_tokens)} tokens in · {whole(chat.usage.completion_tokens)} tokens out
          {chat.timing ? ` · ${timingText(chat.timing, chat.usage.completion_tokens)}` : ''}
        </p>
      ) : null}
      {chat.requestId && chat.state === 'idle' ? (
        <Link
          href={`/o/${org}/requests${requestQueryOf({ id: chat.requestId })}`}
          className="text-xs inline-link"
        >
          This request in the list
        </Link>
      ) : null}
    </div>
  );
}

/** In another tab, because the conversation is in this one only. */
const SignedOut = ({ org }: { org: string }) => (
  <Note kind="danger">
    <p>{SIGNED_OUT}</p>
    <a href={signInPath(`/o/${org}/try`)} target="_blank" rel="noreferrer" className="inline-link">
      Sign in in a new tab, then send it again here
    </a>
  </Note>
);

function Message({ message: { role, text, images } }: { message: ChatMessage }) {
  const mine = role === 'user';
  return (
    <div className={mine ? 'flex justify-end' : ''}>
      <div
        className={`max-w-[85%] min-w-0 text-sm leading-6 break-words ${
          mine ? 'rounded-2xl rounded-br-md bg-accent-soft px-4 py-2.5 whitespace-pre-wrap' : ''
        }`}
      >
        <span className="sr-only">{mine ? 'You: ' : 'Model: '}</span>
        {images.length > 0 ? (
          <span className="mb-2 flex flex-wrap gap-2">
            {images.map(({ id, name, url }) => (
              // biome-ignore lint/performance/noImgElement: the user's own image as a data URL
              <img key={id} src={url} alt={name} className="size-24 rounded-lg object-cover" />
            ))}
          </span>
        ) : null}
        {mine ? text : <AnswerText text={text} />}
      </div>
    </div>
  );
}

function Refused({ refusal: { status, code, message, retryAfterS, body } }: { refusal: ApiRefusal }) {
  return (
    <Note kind="danger">
      <p className="font-medium">
        {status} <code className="font-mono text-[0.8125rem]">{code}</code>
      </p>
      <p>{message}</p>
      {retryAfterS !== null ? <p>Retry after {whole(retryAfterS)} s.</p> : null}
      <details className="mt-1">
        <summary className="cursor-pointer text-[0.8125rem]">As the API returned it</summary>
        <pre className="mt-2 overflow-x-auto font-mono text-xs leading-5 whitespace-pre-wrap">
          {body || '(no body)'}
        </pre>
      </details>
    </Note>
  );
}
