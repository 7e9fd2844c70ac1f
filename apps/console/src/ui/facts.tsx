import type { ReactNode } from 'react';

interface Fact {
  readonly name: string;
  readonly value: ReactNode;
}

/** What is known about something, each under its name. */
export function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <dl className="grid gap-x-8 gap-y-4 px-5 pb-5 sm:grid-cols-2">
      {facts.map(({ name, value }) => (
        <div key={name} className="min-w-0">
          <dt className="text-xs text-muted">{name}</dt>
          <dd className="mt-0.5 text-sm leading-6 wrap-anywhere tabular-nums">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

interface Figure {
  readonly name: string;
  readonly value: ReactNode;
  readonly note?: string | undefined;
}

/** Four figures side by side. */
export function Figures({ label, figures }: { label: string; figures: readonly Figure[] }) {
  return (
    <dl
      aria-label={label}
      className="grid grid-cols-2 gap-px overflow-hidden rounded-[0.875rem] border border-border bg-border xl:grid-cols-4"
    >
      {figures.map(({ name, value, note }) => (
        <div key={name} className="bg-surface px-5 py-4">
          <dt className="text-[0.8125rem] text-muted">{name}</dt>
          <dd className="mt-1 text-xl font-semibold tracking-[-0.02em] tabular-nums max-sm:wrap-anywhere">
            {value}
          </dd>
          <dd className="mt-1 min-h-8 text-xs leading-4 text-muted sm:min-h-4">{note}</dd>
        </div>
      ))}
    </dl>
  );
}
