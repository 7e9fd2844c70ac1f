import type { IncomingMessage } from 'node:http';
import { type ParsedApiKey, parseApiKey } from '@tidegate/contracts';

const BEARER = /^bearer +(\S+)$/i;
const NAME = 'authorization';

/** The key that a request carries: exactly one `Authorization: Bearer <key>`. Null: it has no such header at all. */
export function presentedKey({ rawHeaders }: IncomingMessage): ParsedApiKey | 'malformed' | null {
  let value: string | null = null;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (name.length !== NAME.length || name.toLowerCase() !== NAME) continue;
    if (value !== null) return 'malformed';
    value = rawHeaders[i + 1] as string;
  }
  if (value === null) return null;
  const key = BEARER.exec(value)?.[1];
  return (key && parseApiKey(key)) || 'malformed';
}
