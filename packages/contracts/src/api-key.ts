import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { BASE62, ORG_TAG_LENGTH, randomBase62 } from './ids.ts';

/*
 * A key value: "ti_" + 36 characters of secret + 12 of the organization's tag + 6 of checksum, all
 * base62.
 *
 * The secret comes first, so that the six characters shown in lists tell keys apart. The other 30
 * stay secret: 178 bits. The tag finds the organization's Redis slot before anything is known about
 * the key. The checksum catches typos without a look-up. It adds no security.
 */
const PREFIX = 'ti_';
const SECRET_LENGTH = 36;
const CHECKSUM_LENGTH = 6;
const SHOWN_LENGTH = PREFIX.length + 6;
const FORM = new RegExp(`^${PREFIX}[0-9A-Za-z]{${SECRET_LENGTH + ORG_TAG_LENGTH + CHECKSUM_LENGTH}}$`);

/** The `Authorization` header with which callers present a key. */
export const BEARER = /^bearer +(\S+)$/i;

export interface NewApiKey {
  /** Shown once, stored nowhere. */
  readonly value: string;
  /** The first characters, shown in lists. */
  readonly prefix: string;
  /** SHA-256 of the value, 32 bytes. */
  readonly hash: Buffer;
}

export interface ParsedApiKey {
  readonly orgTag: string;
  readonly hash: Buffer;
}

export function newApiKey(orgTag: string): NewApiKey {
  const body = PREFIX + randomBase62(SECRET_LENGTH) + orgTag;
  const value = body + checksum(body);
  return { value, prefix: value.slice(0, SHOWN_LENGTH), hash: hashOf(value) };
}

/** Null: the value does not have the form of a key, or its checksum is wrong. */
export function parseApiKey(value: string): ParsedApiKey | null {
  if (!FORM.test(value)) return null;
  const body = value.slice(0, -CHECKSUM_LENGTH);
  if (checksum(body) !== value.slice(-CHECKSUM_LENGTH)) return null;
  return { orgTag: body.slice(-ORG_TAG_LENGTH), hash: hashOf(value) };
}

const hashOf = (value: string): Buffer => hash('sha256', value, 'buffer');

function checksum(body: string): string {
  let rest = crc32(body);
  let out = '';
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    out = BASE62[rest % 62] + out;
    rest = Math.floor(rest / 62);
  }
  return out;
}
