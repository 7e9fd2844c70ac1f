import type { ReactNode } from 'react';
import { loadKey } from '#keys/load-key.ts';

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
  await loadKey(org, key);
  return children;
}
