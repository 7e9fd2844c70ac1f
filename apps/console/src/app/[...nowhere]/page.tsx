import type { Metadata } from 'next';
import { notFound } from 'next/navigation';

export const metadata: Metadata = { title: 'Not found' };

/**
 * Any address that belongs to no screen. Without this route the answer is the same, but the font is
 * not sent with it, and comes too late to be used.
 */
export default function Nowhere() {
  notFound();
}
