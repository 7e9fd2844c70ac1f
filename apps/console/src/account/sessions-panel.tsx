'use client';

import { Button, Chip, toast } from '@heroui/react';
import { useState } from 'react';
import { signOut, signOutEverywhere } from '../session/actions.ts';
import { useToastAct } from '../ui/act.ts';
import { Confirm, useLeadsTo } from '../ui/dialogs.tsx';
import { Panel } from '../ui/page.tsx';
import { Time } from '../ui/time.tsx';
import { timeText } from '../ui/utc.ts';
import { endSession } from './actions.ts';

export interface SessionView {
  readonly id: string;
  /** Browser and system. */
  readonly device: string;
  /** ISO 8601. */
  readonly startedAt: string;
  /** ISO 8601. */
  readonly lastSeenAt: string;
  /** Whether the page is shown in this session. */
  readonly isThis: boolean;
}

export function SessionsPanel({ sessions, idle }: { sessions: readonly SessionView[]; idle: string }) {
  const [asked, setAsked] = useState(false);
  return (
    <Panel title="Sessions" lead={`Where you are signed in. A session ends after ${idle} without use.`}>
      <ul aria-label="Sessions" className="divide-y divide-separator border-y border-border">
        {sessions.map((session) => (
          <SessionRow key={session.id} session={session} />
        ))}
      </ul>
      <div className="flex flex-wrap gap-3 px-5 pt-4 pb-5">
        <form action={signOut}>
          <Button type="submit" variant="secondary">
            Sign out
          </Button>
        </form>
        <Button variant="danger-soft" onPress={() => setAsked(true)}>
          Sign out everywhere
        </Button>
      </div>
      <Confirm
        isOpen={asked}
        onClose={() => setAsked(false)}
        title="Sign out everywhere?"
        confirm="End all sessions"
        action={signOutEverywhere}
        {...useLeadsTo('/sign-in')}
      >
        <p>
          All your sessions end, on every device, including this one. API keys keep working, except those that
          Try it has created for you.
        </p>
      </Confirm>
    </Panel>
  );
}

function SessionRow({ session: { id, device, startedAt, lastSeenAt, isThis } }: { session: SessionView }) {
  const { act, pending } = useToastAct();
  const end = async () => {
    const ended = await act(() => endSession(id));
    if (ended !== undefined) toast.success('The session has ended.');
  };
  return (
    <li className="flex items-center justify-between gap-4 px-5 py-3 text-sm">
      <div className="min-w-0">
        <p className="font-medium">{device}</p>
        <p className="mt-0.5 text-xs text-muted">
          Last used <Time iso={lastSeenAt} /> · since <Time iso={startedAt} exact />
        </p>
      </div>
      {isThis ? (
        <Chip size="sm" variant="soft" color="accent" className="shrink-0">
          This one
        </Chip>
      ) : (
        <Button
          size="sm"
          variant="ghost"
          className="shrink-0"
          isPending={pending}
          onPress={end}
          aria-label={`End the session of ${device} since ${timeText(startedAt)}`}
        >
          End
        </Button>
      )}
    </li>
  );
}
