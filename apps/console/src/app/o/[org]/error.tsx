'use client';

import { Failed } from '#ui/failed.tsx';

/** Shown in place of a screen that could not be read. The rest of the console stays. */
export default function ScreenError({ retry }: { retry: () => void }) {
  return <Failed retry={retry} />;
}
