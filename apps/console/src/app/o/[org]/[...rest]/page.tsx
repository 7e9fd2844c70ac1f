import type { Metadata } from 'next';
import { notFound } from 'next/navigation';

export const metadata: Metadata = { title: 'Not found' };

/** An address that belongs to no screen. The organization's menu stays around the message. */
export default function NoSuchScreen() {
  notFound();
}
