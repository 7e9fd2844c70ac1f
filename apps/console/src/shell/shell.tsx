'use client';

import type { Role } from '@tidegate/control';
import { usePathname } from 'next/navigation';
import { type ReactNode, useEffect } from 'react';
import { HideUntilComplete } from '../ui/hide-until-complete.tsx';
import { Link } from '../ui/link.tsx';
import { Mark } from '../ui/mark.tsx';
import type { Attention } from './attention.ts';
import { AttentionDot } from './attention-dot.tsx';
import { placeOf } from './last-place.ts';
import { MoreScreens, OrgMenu, type OrgOption, UserMenu } from './menus.tsx';
import { Palette } from './palette.tsx';
import { rememberPlace } from './remember-place.ts';
import { type Screen, screensFor } from './screens.ts';
import { SessionKeeper } from './session-keeper.tsx';

/** How many links a narrow display has room for, beside the menu that opens the others. */
const NARROW = 4;

interface ShellProps {
  readonly org: { readonly slug: string; readonly name: string; readonly role: Role } | null;
  readonly orgs: readonly OrgOption[];
  readonly user: { readonly name: string; readonly email: string };
  readonly attention?: Attention;
  readonly children: ReactNode;
}

/**
 * The frame around every screen. Its sizes are fixed from the first byte, so that a page that
 * arrives slowly does not move.
 */
export function Shell({ org, orgs, user, attention = {}, children }: ShellProps) {
  return (
    <div className="min-h-dvh lg:grid lg:grid-cols-[15.5rem_minmax(0,1fr)]">
      <a
        href="#main"
        className="sr-only z-50 rounded-lg bg-accent px-4 py-2 text-sm text-accent-foreground focus:not-sr-only focus:fixed focus:top-3 focus:left-3"
      >
        Skip to content
      </a>
      <SessionKeeper />
      <aside className="print:hidden sticky top-0 z-30 flex flex-col border-border bg-(--sidebar) max-lg:border-b lg:h-dvh lg:border-r">
        <div className="grid h-13 grid-cols-[auto_minmax(0,1fr)_2.25rem_2.5rem] items-center gap-3 px-4 pt-3 lg:block lg:h-auto lg:px-3 lg:pt-4">
          <Link
            href="/"
            className="flex items-center gap-2.5 rounded-lg lg:px-2 lg:pb-4"
            aria-label="Tidegate"
          >
            <Mark className="size-7" />
            <span className="text-[0.9375rem] font-semibold tracking-[-0.015em] max-sm:hidden">Tidegate</span>
          </Link>
          <div className="mt-px min-w-0 self-start lg:mt-0">
            <OrgMenu current={org} orgs={orgs} />
          </div>
          {org ? <Palette org={org.slug} screens={screensFor(org.role)} /> : null}
          <div className="col-start-4 size-10 lg:hidden">
            <UserMenu user={user} role={org?.role} compact />
          </div>
        </div>
        {org ? (
          <Navigation slug={org.slug} role={org.role} attention={attention} />
        ) : (
          <div className="h-3 lg:flex-1" />
        )}
        <div className="h-18.25 shrink-0 border-t border-border p-3 max-lg:hidden">
          <UserMenu user={user} role={org?.role} />
        </div>
      </aside>
      <main id="main" tabIndex={-1} className="min-w-0 px-4 py-6 outline-none sm:px-8 lg:px-10 lg:py-9">
        <HideUntilComplete className="mx-auto max-w-6xl">{children}</HideUntilComplete>
      </main>
    </div>
  );
}

function Navigation({ slug, role, attention }: { slug: string; role: Role; attention: Attention }) {
  const pathname = usePathname();
  useEffect(() => {
    const place = placeOf(pathname);
    if (place) rememberPlace(place);
  }, [pathname]);
  const screens = screensFor(role);
  const isHere = ({ path }: Screen) => {
    const own = `/o/${slug}/${path}`;
    return pathname === own || pathname.startsWith(`${own}/`);
  };
  const others = screens.slice(NARROW);
  return (
    <nav
      aria-label="Screens"
      className="grid grid-cols-5 gap-0.5 px-2 py-1.5 md:flex md:gap-1 md:px-3 md:py-2 lg:mt-3 lg:flex-1 lg:flex-col lg:overflow-y-auto lg:py-0"
    >
      {screens.map((screen, i) => (
        <Link
          key={screen.path}
          href={`/o/${slug}/${screen.path}`}
          aria-current={isHere(screen) ? 'page' : undefined}
          title={attention[screen.path]}
          className={`${LINK} ${i < NARROW ? '' : 'max-md:hidden'} ${isHere(screen) ? LINK_HERE : LINK_ELSEWHERE}`}
        >
          <span className={`${screen.icon} size-4 ${isHere(screen) ? 'text-accent' : ''}`} aria-hidden />
          {screen.name}
          {attention[screen.path] ? <AttentionDot /> : null}
        </Link>
      ))}
      <MoreScreens
        slug={slug}
        screens={others}
        here={others.find(isHere)}
        attention={attention}
        className={`${LINK} md:hidden ${others.some(isHere) ? LINK_HERE : LINK_ELSEWHERE}`}
      />
    </nav>
  );
}

const LINK =
  'relative flex items-center rounded-lg py-1.5 transition-colors max-md:flex-col max-md:gap-1 max-md:text-[0.6875rem] max-md:leading-3 md:gap-1.5 md:px-2 md:text-sm lg:gap-2.5 lg:px-2.5 lg:py-2';
const LINK_HERE = 'bg-surface font-medium text-foreground shadow-xs ring-1 ring-border';
const LINK_ELSEWHERE = 'text-muted hover:bg-default hover:text-foreground';
