'use client';

import { Button } from '@heroui/react';
import { startAuthentication } from '@simplewebauthn/browser';
import { useState } from 'react';
import { Note } from '../ui/page.tsx';
import { passkeyChallenge, signInWithPasskey } from './passkey-actions.ts';

/** Signs in with a passkey that the browser, its user's phone or a security key has. */
export function PasskeyButton({ next }: { next: string }) {
  const [pending, setPending] = useState(false);
  const [trouble, setTrouble] = useState<string | null>(null);
  const press = async () => {
    setPending(true);
    setTrouble(await signIn(next));
    setPending(false);
  };
  return (
    <div className="mt-3">
      <Button variant="secondary" fullWidth isPending={pending} onPress={press}>
        Sign in with a passkey
      </Button>
      {trouble ? (
        <Note kind="danger" className="mt-3">
          {trouble}
        </Note>
      ) : null}
    </div>
  );
}

const UNREACHABLE = 'The console could not be reached. Try again.';

/** @returns why it did not work */
async function signIn(next: string): Promise<string | null> {
  const challenge = await passkeyChallenge().catch(() => null);
  if (!challenge) return UNREACHABLE;
  if (!challenge.ok) return challenge.refusal.message;
  const answer = await startAuthentication({ optionsJSON: challenge.value }).catch(() => null);
  if (!answer) return 'No passkey was used. Try again, or sign in with your password.';
  const result = await signInWithPasskey(answer, next).catch(() => null);
  if (!result) return UNREACHABLE;
  if (!result.ok) return result.refusal.message;
  window.location.assign(result.value);
  return null;
}
