'use client';

import { Button } from '@heroui/react';
import { useRef } from 'react';
import { focusable, watchFocus } from './focus.ts';
import { whole } from './numbers.ts';

/**
 * Right under a table that shows its first rows. `more`: how many more there are, if any. If none
 * are left after a press, the first new row gets the focus.
 */
export function ShowMore({ more, onPress }: { more: number; onPress: () => void }) {
  const place = useRef<HTMLDivElement>(null);
  const press = () => {
    const table = place.current?.previousElementSibling;
    const rows = () => table?.querySelectorAll<HTMLElement>('tbody > tr > th') ?? [];
    const before = rows().length;
    onPress();
    watchFocus(() => focusable(rows()[before]));
  };
  return more > 0 ? (
    <div ref={place} className="border-t border-separator p-3 text-center">
      <Button size="sm" variant="ghost" onPress={press}>
        Show more ({whole(more)})
      </Button>
    </div>
  ) : null;
}
