import { notFound } from 'next/navigation';

/** An address that no screen has. The organization's menu stays around the message. */
export default function NoSuchScreen() {
  notFound();
}
