'use client';

import { Modal } from '@heroui/react';
import { useRouter } from 'next/navigation';
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { findables } from './actions.ts';
import { type Findable, found } from './find.ts';
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
      setOpen((open) => open || document.querySelector('[role=dialog], [role=alertdialog]') === null);
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

function Finder({ org, screens, onDone }: PaletteProps & { onDone: () => void }) {
  const router = useRouter();
  const listId = useId();
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const { all, state } = useFindables(org, screens);
  const shown = found(all, text);
  const chosen = shown[Math.min(at, shown.length - 1)];
  const idOf = ({ group, id }: Findable) => `${listId}-${group}-${id}`;
  const go = ({ href }: Findable) => {
    onDone();
    router.push(href);
  };
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && shown.length > 0) {
      event.preventDefault();
      setAt((Math.min(at, shown.length - 1) + step + shown.length) % shown.length);
    }
    if (event.key === 'Enter' && chosen) {
      event.preventDefault();
      go(chosen);
    }
  };
  const active = chosen && idOf(chosen);
  useEffect(() => {
    if (active) document.getElementById(active)?.scrollIntoView({ block: 'nearest' });
  }, [active]);
  return (
    <>
      <input
        // biome-ignore lint/a11y/noAutofocus: the dialog is there for this field
        autoFocus
        role="combobox"
        aria-label="Screen, key, model or member"
        aria-expanded="true"
        aria-controls={listId}
        aria-autocomplete="list"
        aria-activedescendant={active}
        autoComplete="off"
        spellCheck={false}
        placeholder="Screen, key, model or member"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={press}
        className="h-13 w-full shrink-0 border-b border-border bg-transparent px-5 text-base outline-none placeholder:text-muted"
      />
      <div
        id={listId}
        role="listbox"
        aria-label="Found"
        className="h-96 max-h-[60dvh] overflow-y-auto p-2"
        tabIndex={-1}
      >
        {GROUPS.map((group) => (
          <Group
            key={group}
            group={group}
            items={shown.filter((item) => item.group === group)}
            idOf={idOf}
            active={active}
            go={go}
          />
        ))}
      </div>
      <p role="status" className="border-t border-border px-5 py-2.5 text-xs text-muted">
        {state === 'loading'
          ? 'Looking for keys, models and members…'
          : state === 'failed'
            ? 'Keys, models and members could not be read. Close this and open it again.'
            : shown.length === 0
              ? 'Nothing has this name.'
              : 'Choose with ↑ and ↓, open with Enter.'}
      </p>
    </>
  );
}

const GROUPS = ['Screens', 'Keys', 'Models', 'Members'] as const;

interface GroupProps {
  readonly group: Findable['group'];
  readonly items: readonly Findable[];
  readonly idOf: (item: Findable) => string;
  readonly active: string | undefined;
  readonly go: (item: Findable) => void;
}

function Group({ group, items, idOf, active, go }: GroupProps) {
  if (items.length === 0) return null;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is no part of a listbox
    <div role="group" aria-label={group}>
      <div className="px-3 pt-2 pb-1 text-xs font-medium text-muted" aria-hidden>
        {group}
      </div>
      {items.map((item) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: keys go to the field
        // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus
        <div
          key={item.id}
          id={idOf(item)}
          role="option"
          aria-selected={idOf(item) === active}
          onClick={() => go(item)}
          className="flex cursor-pointer items-baseline gap-3 rounded-lg px-3 py-2 text-sm hover:bg-default aria-selected:bg-accent-soft aria-selected:text-accent-soft-foreground"
        >
          <span className="min-w-0 truncate">{item.name}</span>
          {item.hint ? (
            <span className="ml-auto min-w-0 shrink truncate text-xs text-muted">{item.hint}</span>
          ) : null}
        </div>
      ))}
    </div>
  );
}

/** Screens are known at once. The others are read when the palette opens. */
function useFindables(org: string, screens: readonly Screen[]) {
  const [read, setRead] = useState<readonly Findable[] | 'loading' | 'failed'>('loading');
  const open = useRef(true);
  useEffect(() => {
    open.current = true;
    findables(org).then(
      (result) => open.current && setRead(result.ok ? result.value : 'failed'),
      () => open.current && setRead('failed'),
    );
    return () => {
      open.current = false;
    };
  }, [org]);
  const own = screens.map(
    ({ path, name }): Findable => ({ group: 'Screens', id: path, name, href: `/o/${org}/${path}` }),
  );
  const account: Findable = { group: 'Screens', id: 'account', name: 'Account', href: '/account' };
  return {
    all: [...own, account, ...(typeof read === 'string' ? [] : read)],
    state: typeof read === 'string' ? read : 'ready',
  };
}
