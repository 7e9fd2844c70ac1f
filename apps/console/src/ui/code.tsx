'use client';

import { Button, Tabs } from '@heroui/react';
import { Check, Copy } from 'lucide-react';
import { useEffect, useState } from 'react';
import { Scroll } from './scroll.tsx';

const SHOWN_MS = 2_000;

export function CopyButton({
  text,
  label,
  className = '',
}: {
  text: string;
  label: string;
  className?: string;
}) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = () => navigator.clipboard.writeText(text).then(() => setCopied(true));
  return (
    <Button size="sm" variant="secondary" className={className} onPress={copy} aria-label={label}>
      {copied ? <Check className="size-3.5" aria-hidden /> : <Copy className="size-3.5" aria-hidden />}
      <span aria-live="polite">{copied ? 'Copied' : 'Copy'}</span>
    </Button>
  );
}

/** Code as it is to be pasted. */
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

/** The same thing in several languages. */
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
        <Tabs.Panel key={id} id={id}>
          <Code text={text} label={title} />
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
