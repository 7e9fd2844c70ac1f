import type { Metadata, Viewport } from 'next';
import { headers } from 'next/headers';
import type { ReactNode } from 'react';
import { NONCE_HEADER } from '../server/http/names.ts';
import { FocusMemory } from '../ui/focus.ts';
import { ReapplyTheme } from '../ui/reapply-theme.tsx';
import { THEME_SCRIPT } from '../ui/theme.ts';
import { Toasts } from '../ui/toasts.tsx';
import { FONT_VARIABLES } from './font.ts';
import { PRESSABLE } from './pressable.ts';
import './globals.css';

export const metadata: Metadata = {
  title: { default: 'Tidegate', template: '%s · Tidegate' },
  description: "Your organization's keys, models and usage.",
  robots: { index: false, follow: false },
};
export const viewport: Viewport = {
  width: 'device-width',
  initialScale: 1,
  themeColor: [
    { media: '(prefers-color-scheme: light)', color: '#f7fafb' },
    { media: '(prefers-color-scheme: dark)', color: '#0c151a' },
  ],
};

export default async function RootLayout({ children }: { children: ReactNode }) {
  const nonce = (await headers()).get(NONCE_HEADER) ?? undefined;
  return (
    <html lang="en" className={FONT_VARIABLES} suppressHydrationWarning>
      <head>
        <meta property="csp-nonce" nonce={nonce} content={nonce} suppressHydrationWarning />
        {/* biome-ignore lint/security/noDangerouslySetInnerHtml: a constant of this program */}
        <script nonce={nonce} suppressHydrationWarning dangerouslySetInnerHTML={{ __html: THEME_SCRIPT }} />
        <style id={PRESSABLE.id} nonce={nonce} suppressHydrationWarning>
          {PRESSABLE.rules}
        </style>
      </head>
      <body className="min-h-dvh">
        {children}
        <Toasts />
        <FocusMemory />
        <ReapplyTheme />
      </body>
    </html>
  );
}
