import type { ReactNode } from 'react';
import { Link } from './link.tsx';

export function PageHeader({
  back,
  title,
  lead,
  actions,
}: {
  /** The screen that this page belongs to. */
  back?: { readonly href: string; readonly name: string };
  title: string;
  lead?: ReactNode;
  actions?: ReactNode;
}) {
  return (
    <header className="mb-6 flex flex-wrap items-end justify-between gap-x-6 gap-y-4">
      <div className="min-w-0 max-w-2xl flex-1 basis-80">
        {back ? (
          <Link
            href={back.href}
            className="mb-2 -ml-1 inline-flex items-center gap-1 rounded text-[0.8125rem] text-muted hover:text-foreground"
          >
            <span className="icon-chevron-left size-4" aria-hidden />
            {back.name}
          </Link>
        ) : null}
        <h1 className="text-[1.625rem] wrap-anywhere leading-8 font-semibold tracking-[-0.022em]">{title}</h1>
        {lead ? <p className="mt-1.5 text-sm leading-6 text-muted text-pretty">{lead}</p> : null}
      </div>
      {actions ? <div className="flex flex-wrap items-center gap-2">{actions}</div> : null}
    </header>
  );
}

export function Panel({
  id,
  title,
  lead,
  children,
  className = '',
}: {
  /** Lets links lead to this panel. */
  id?: string;
  title: string;
  lead?: ReactNode;
  children: ReactNode;
  className?: string;
}) {
  return (
    <section id={id} className={`card-surface min-w-0 scroll-mt-28 lg:scroll-mt-9 ${className}`}>
      <div className="px-5 pt-4 pb-3">
        <h2 className="text-[0.9375rem] wrap-anywhere font-semibold tracking-[-0.01em]">{title}</h2>
        {lead ? <p className="mt-0.5 text-[0.8125rem] text-muted">{lead}</p> : null}
      </div>
      {children}
    </section>
  );
}

/** Shown where nothing exists yet. Says what will appear here and how to create it. */
export function Empty({
  icon,
  title,
  level: Heading = 'h2',
  children,
}: {
  icon: ReactNode;
  title: string;
  /** Level of its heading: h1 when it is the page's only content. */
  level?: 'h1' | 'h2';
  children: ReactNode;
}) {
  return (
    <div className="flex flex-col items-center px-6 py-16 text-center">
      <div className="mb-4 grid size-12 place-items-center rounded-2xl bg-accent-soft text-accent-soft-foreground">
        {icon}
      </div>
      <Heading className="text-[0.9375rem] font-semibold">{title}</Heading>
      <div className="mt-1.5 max-w-sm text-sm leading-6 text-muted text-pretty">{children}</div>
    </div>
  );
}

/** Something to know before going on. */
export function Note({
  kind,
  children,
  className = '',
}: {
  kind: 'warning' | 'danger';
  children: ReactNode;
  className?: string;
}) {
  const colors = {
    warning: 'border-warning/40 bg-warning-soft',
    danger: 'border-danger/30 bg-danger-soft',
  }[kind];
  return (
    <div
      role={kind === 'danger' ? 'alert' : undefined}
      // The colour of links would be too faint on red.
      className={`rounded-xl border px-4 py-3 text-sm leading-6 wrap-anywhere text-foreground [&_.inline-link]:text-foreground ${colors} ${className}`}
    >
      {children}
    </div>
  );
}
