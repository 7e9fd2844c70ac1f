'use client';

import { useRouter } from 'next/navigation';
import { type KeyboardEvent, useEffect, useId, useState } from 'react';
import { focusHeadingOf } from '../ui/focus.ts';
import { type Findable, found } from './find.ts';
import type { Screen } from './screens.ts';
import { type Findables, useFindables } from './use-findables.ts';

interface FinderProps {
  readonly org: string;
  readonly screens: readonly Screen[];
  readonly onDone: () => void;
}

/** A field for a name, and a list of what has that name. */
export function Finder({ org, screens, onDone }: FinderProps) {
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
    focusHeadingOf(href);
  };
  const press = (event: KeyboardEvent) => {
    // While text is being composed, as in Japanese, these keys choose and end it.
    if (event.nativeEvent.isComposing) return;
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
      <FoundList id={listId} items={shown} idOf={idOf} active={active} go={go} />
      <p role="status" className="border-t border-border px-5 py-2.5 text-xs text-muted">
        {statusOf(state, shown.length)}
      </p>
    </>
  );
}

function statusOf(state: Findables['state'], found: number): string {
  if (state === 'loading') return 'Looking for keys, models and members…';
  if (state === 'failed')
    return 'Keys, models and members could not be loaded. Close this and open it again.';
  return found === 0 ? 'Nothing matches.' : 'Choose with ↑ and ↓, open with Enter.';
}

const GROUPS = ['Screens', 'Keys', 'Models', 'Members'] as const;

interface FoundListProps {
  readonly id: string;
  readonly items: readonly Findable[];
  readonly idOf: (item: Findable) => string;
  /** Id of the one that Enter opens. */
  readonly active: string | undefined;
  readonly go: (item: Findable) => void;
}

function FoundList({ id, items, ...rest }: FoundListProps) {
  return (
    <div
      id={id}
      role="listbox"
      aria-label="Found"
      className="h-96 max-h-[60dvh] overflow-y-auto p-2"
      tabIndex={-1}
    >
      {GROUPS.map((group) => (
        <Group key={group} group={group} items={items.filter((item) => item.group === group)} {...rest} />
      ))}
    </div>
  );
}

interface GroupProps extends Omit<FoundListProps, 'id'> {
  readonly group: Findable['group'];
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
