'use client';

import { Button, Tabs } from '@heroui/react';
import { useEffect, useState } from 'react';
import { Scroll } from './scroll.tsx';

const SHOWN_MS = 2_000;
const TOLD = { idle: 'Copy', copied: 'Copied', refused: 'Copy it by hand' } as const;

/** Copies a text, and shows for a moment whether that worked. */
function useCopy(text: string) {
  const [state, setState] = useState<keyof typeof TOLD>('idle');
  useEffect(() => {
    if (state === 'idle') return;
    const timer = setTimeout(() => setState('idle'), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [state]);
  // Browsers allow this only over https and on localhost, and users can forbid it.
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setState('copied');
    } catch {
      setState('refused');
    }
  };
  return { state, copy };
}

interface CopyProps {
  readonly text: string;
  readonly label: string;
}

export function CopyButton({ text, label, className = '' }: CopyProps & { readonly className?: string }) {
  const { state, copy } = useCopy(text);
  return (
    <Button
      size="sm"
      variant="secondary"
      className={className}
      onPress={copy}
      {...(state === 'idle' ? { 'aria-label': label } : {})}
    >
      {state === 'copied' ? (
        <span className="icon-check size-3.5" aria-hidden />
      ) : (
        <span className="icon-copy size-3.5" aria-hidden />
      )}
      <span aria-live="polite">{TOLD[state]}</span>
    </Button>
  );
}

const SIGNS = { idle: 'icon-copy', copied: 'icon-check', refused: 'icon-x' } as const;

/** A small button beside a text in a table. */
export function CopyIcon({ text, label }: CopyProps) {
  const { state, copy } = useCopy(text);
  return (
    <button
      type="button"
      className="grid size-6 shrink-0 cursor-pointer place-items-center rounded-md text-muted hover:bg-default hover:text-foreground"
      aria-label={label}
      title={TOLD[state]}
      onClick={copy}
    >
      <span className={`${SIGNS[state]} size-3.5`} aria-hidden />
      <span className="sr-only" aria-live="polite">
        {state === 'idle' ? '' : TOLD[state]}
      </span>
    </button>
  );
}

/** Code to copy. */
export function Code({ text, label }: { text: string; label: string }) {
  return (
    <div className="overflow-hidden rounded-xl bg-(--code) text-(--code-foreground)">
      <div className="flex items-center justify-between py-1.5 pr-1.5 pl-4">
        <span className="text-xs opacity-75">{label}</span>
        <CopyButton
          text={text}
          label={`Copy ${label}`}
          className="bg-white/10 text-(--code-foreground) hover:bg-white/20"
        />
      </div>
      <Scroll label={label}>
        <pre className="px-4 pt-1 pb-4 font-mono text-xs leading-5">{text}</pre>
      </Scroll>
    </div>
  );
}

export interface Snippet {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

/** The same code in several languages. */
export function Snippets({ snippets, label }: { snippets: readonly Snippet[]; label: string }) {
  return (
    <Tabs>
      <Tabs.ListContainer>
        <Tabs.List aria-label={label}>
          {snippets.map(({ id, title }) => (
            <Tabs.Tab key={id} id={id}>
              {title}
              <Tabs.Indicator />
            </Tabs.Tab>
          ))}
        </Tabs.List>
      </Tabs.ListContainer>
      {snippets.map(({ id, title, text }) => (
        <Tabs.Panel key={id} id={id} className="px-0">
          <Code text={text} label={title} />
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
