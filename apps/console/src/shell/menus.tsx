'use client';

import { Dropdown, Header, Label, toast } from '@heroui/react';
import { unstable_rethrow, usePathname, useRouter } from 'next/navigation';
import { type Key, useEffect, useState } from 'react';
import { signOut } from '../session/actions.ts';
import { setTheme, storedTheme, type Theme } from '../ui/theme.ts';
import type { Attention } from './attention.ts';
import { AttentionDot } from './attention-dot.tsx';
import { initialOf } from './initial.ts';
import { type OrgOfUser, sameScreenIn } from './last-place.ts';
import type { Screen } from './screens.ts';

export interface OrgOption extends OrgOfUser {
  readonly name: string;
  readonly plan: string;
}

export function OrgMenu({
  current,
  orgs,
}: {
  current: { readonly slug: string; readonly name: string } | null;
  orgs: readonly OrgOption[];
}) {
  const router = useRouter();
  const pathname = usePathname();
  const open = (slug: Key) => {
    const org = orgs.find((each) => each.slug === slug);
    if (org) router.push(sameScreenIn(org, pathname));
  };
  if (orgs.length === 0) return null;
  return (
    <Dropdown>
      <Dropdown.Trigger className="flex w-full max-w-52 items-center gap-2 rounded-lg border border-border bg-surface px-3 py-2 text-sm font-medium hover:bg-surface-hover lg:max-w-none">
        <span className="min-w-0 flex-1 truncate text-left">
          {current ? <span className="sr-only">Organization: </span> : null}
          {current?.name ?? 'Organizations'}
        </span>
        <span className="icon-chevrons-up-down size-3.5 shrink-0 text-muted" aria-hidden />
      </Dropdown.Trigger>
      <Dropdown.Popover placement="bottom start" className="max-w-[calc(100vw-2rem)]">
        <Dropdown.Menu aria-label="Organizations" onAction={open}>
          {orgs.map(({ slug, name, plan }) => (
            <Dropdown.Item key={slug} id={slug} textValue={name}>
              <Label className="max-w-56 truncate">{name}</Label>
              <span className="ml-auto pl-6 text-xs text-muted">{plan}</span>
              {slug === current?.slug ? (
                <span className="icon-check size-4 text-accent" role="img" aria-label="current" />
              ) : null}
            </Dropdown.Item>
          ))}
        </Dropdown.Menu>
      </Dropdown.Popover>
    </Dropdown>
  );
}

interface MoreScreensProps {
  readonly slug: string;
  readonly screens: readonly Screen[];
  /** The one of them that is open. */
  readonly here: Screen | undefined;
  readonly attention: Attention;
  readonly className: string;
}

/** The screens that have no link of their own on a narrow display. */
export function MoreScreens({ slug, screens, here, attention, className }: MoreScreensProps) {
  const router = useRouter();
  return (
    <Dropdown>
      <Dropdown.Trigger className={className}>
        <span
          className={`${here?.icon ?? 'icon-ellipsis'} size-4 ${here ? 'text-accent' : ''}`}
          aria-hidden
        />
        <span className="relative">
          {here ? (
            <>
              {here.name} <span className="sr-only">and more screens</span>
              <span
                className="icon-chevron-down absolute top-1/2 left-full ml-0.5 size-2.5 -translate-y-1/2"
                aria-hidden
              />
            </>
          ) : (
            'More'
          )}
        </span>
        {screens.some(({ path }) => attention[path]) ? <AttentionDot /> : null}
      </Dropdown.Trigger>
      <Dropdown.Popover placement="bottom end">
        <Dropdown.Menu aria-label="More screens" onAction={(path) => router.push(`/o/${slug}/${path}`)}>
          {screens.map(({ path, name, icon }) => (
            <Dropdown.Item key={path} id={path} textValue={name}>
              <span className={`${icon} size-4 text-muted`} aria-hidden />
              <Label>{name}</Label>
              {attention[path] ? (
                <span className="text-xs text-muted whitespace-normal">{attention[path]}</span>
              ) : null}
              {path === here?.path ? (
                <span className="icon-check ml-auto size-4 text-accent" role="img" aria-label="current" />
              ) : null}
            </Dropdown.Item>
          ))}
        </Dropdown.Menu>
      </Dropdown.Popover>
    </Dropdown>
  );
}

const THEMES = [
  { id: 'system', name: 'As the system', icon: 'icon-monitor' },
  { id: 'light', name: 'Light', icon: 'icon-sun' },
  { id: 'dark', name: 'Dark', icon: 'icon-moon' },
] as const;

function notSignedOut(error: unknown): void {
  // The framework redirects by throwing an error.
  unstable_rethrow(error);
  toast.danger('You could not be signed out: the console failed or could not be reached. Try again.', {
    timeout: 0,
  });
}

export function UserMenu({
  user,
  role,
  compact = false,
}: {
  user: { readonly name: string; readonly email: string };
  role: string | undefined;
  compact?: boolean;
}) {
  const router = useRouter();
  const [theme, choose] = useState<Theme>('system');
  useEffect(() => choose(storedTheme()), []);
  const act = (id: string | number) => {
    if (id === 'account') return router.push('/account');
    if (id === 'sign-out') return void signOut().catch(notSignedOut);
    choose(id as Theme);
    setTheme(id as Theme);
  };
  return (
    <Dropdown>
      <Dropdown.Trigger
        className={`flex items-center gap-2.5 rounded-lg text-left hover:bg-default ${compact ? 'p-1' : 'w-full px-2 py-1.5'}`}
      >
        <span
          aria-hidden
          className="grid size-8 shrink-0 place-items-center rounded-full bg-accent-soft text-xs font-semibold text-accent-soft-foreground uppercase"
        >
          {initialOf(user.name)}
        </span>
        {compact ? (
          <span className="sr-only">Account</span>
        ) : (
          <span className={`min-w-0 flex-1 ${role ? 'self-start' : ''}`}>
            <span className="block truncate text-[0.8125rem] font-medium">{user.email}</span>
            {role ? <span className="block text-xs text-muted capitalize">{role}</span> : null}
          </span>
        )}
      </Dropdown.Trigger>
      <Dropdown.Popover placement={compact ? 'bottom end' : 'top start'} className="max-w-[calc(100vw-2rem)]">
        <Dropdown.Menu aria-label="Account" onAction={act}>
          <Dropdown.Item id="account" textValue="Account">
            <span className="icon-user-round size-4 text-muted" aria-hidden />
            <Label>Account</Label>
          </Dropdown.Item>
          <Dropdown.Section>
            <Header>Appearance</Header>
            {THEMES.map(({ id, name, icon }) => (
              <Dropdown.Item key={id} id={id} textValue={name}>
                <span className={`${icon} size-4 text-muted`} aria-hidden />
                <Label>{name}</Label>
                {id === theme ? (
                  <span className="icon-check ml-auto size-4 text-accent" role="img" aria-label="chosen" />
                ) : null}
              </Dropdown.Item>
            ))}
          </Dropdown.Section>
          <Dropdown.Section aria-label="Session">
            <Dropdown.Item id="sign-out" textValue="Sign out">
              <span className="icon-log-out size-4 text-muted" aria-hidden />
              <Label>Sign out</Label>
            </Dropdown.Item>
          </Dropdown.Section>
        </Dropdown.Menu>
      </Dropdown.Popover>
    </Dropdown>
  );
}
