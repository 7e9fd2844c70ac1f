import type { IncomingMessage } from 'node:http';
import { BEARER, type ParsedApiKey, parseApiKey } from '@tidegate/contracts';

const NAME = 'authorization';

/**
 * Reads the key from the request's single `Authorization: Bearer <key>` header. Returns `absent`
 * if the request has no such header, and `malformed` if it has several or an unreadable one.
 */
export function presentedKey({ rawHeaders }: IncomingMessage): ParsedApiKey | 'absent' | 'malformed' {
  let value: string | null = null;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (name.length !== NAME.length || name.toLowerCase() !== NAME) continue;
    if (value !== null) return 'malformed';
    value = rawHeaders[i + 1] as string;
  }
  if (value === null) return 'absent';
  const key = BEARER.exec(value)?.[1];
  return (key && parseApiKey(key)) || 'malformed';
}
