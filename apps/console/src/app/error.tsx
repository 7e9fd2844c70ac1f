'use client';

import { Failed } from '../ui/failed.tsx';

/** Shown when no part of a page could be read, not even who is signed in. */
export default function PageError({ retry }: { retry: () => void }) {
  return (
    <main className="tide grid min-h-dvh place-items-center px-4">
      <Failed retry={retry} />
    </main>
  );
}
