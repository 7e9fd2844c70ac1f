'use client';

import { Modal } from '@heroui/react';
import { useEffect, useState } from 'react';
import { isDialogOpen } from '../ui/focus.ts';
import { Finder } from './finder.tsx';
import type { Screen } from './screens.ts';

interface PaletteProps {
  readonly org: string;
  readonly screens: readonly Screen[];
}

/** Goes to a screen, a key, a model or a member by its name. Opens with Ctrl-K or Cmd-K, too. */
export function Palette({ org, screens }: PaletteProps) {
  const [isOpen, setOpen] = useState(false);
  const [shortcut, setShortcut] = useState('Ctrl K');
  useEffect(() => {
    if (/Mac|iPhone|iPad/.test(navigator.platform)) setShortcut('⌘ K');
    const left = new AbortController();
    const press = (event: globalThis.KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey) return;
      event.preventDefault();
      // A dialog that shows something once must not be left by accident.
      setOpen((open) => open || !isDialogOpen());
    };
    addEventListener('keydown', press, { signal: left.signal });
    return () => left.abort();
  }, []);
  return (
    <>
      <button
        type="button"
        onClick={() => setOpen(true)}
        aria-keyshortcuts="Control+K Meta+K"
        className="flex items-center gap-2 rounded-lg text-sm text-muted hover:bg-default hover:text-foreground max-lg:size-9 max-lg:justify-center lg:mt-2 lg:h-9 lg:w-full lg:border lg:border-border lg:px-3"
      >
        <span className="icon-search size-4" aria-hidden />
        <span className="max-lg:sr-only lg:flex-1 lg:text-left">Go to…</span>
        <kbd className="w-12 text-right font-sans text-xs max-lg:hidden" aria-hidden>
          {shortcut}
        </kbd>
      </button>
      <Modal.Backdrop isOpen={isOpen} onOpenChange={setOpen} isDismissable>
        <Modal.Container size="md" placement="top" scroll="inside">
          <Modal.Dialog aria-label="Go to" className="overflow-hidden p-0">
            <Finder org={org} screens={screens} onDone={() => setOpen(false)} />
          </Modal.Dialog>
        </Modal.Container>
      </Modal.Backdrop>
    </>
  );
}
