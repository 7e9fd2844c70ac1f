import type { ReactNode } from 'react';
import { keyOf } from '#keys/key-of.ts';

interface KeyLayoutProps {
  readonly children: ReactNode;
  readonly params: Promise<{ org: string; key: string }>;
}

/**
 * Finds the key before anything is sent, so that the answer is 404 if there is none. What the page
 * shows of it may arrive later.
 */
export default async function KeyLayout({ children, params }: KeyLayoutProps) {
  const { org, key } = await params;
  await keyOf(org, key);
  return children;
}
