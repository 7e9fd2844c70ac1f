import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

/*
 * Encrypts a secret at rest with AES-256-GCM, under the installation's secret key. Layout: version
 * (1 byte, 2), key id (4 bytes), nonce (12 bytes), tag (16 bytes), ciphertext. Version 1 had no key
 * id; such values still open. The control package seals an upstream's key, and the runner opens it.
 * While the secret key is being replaced, values under the previous one open too.
 */
const VERSION = 2;
const KEY_ID_BYTES = 4;
/** The bytes in front of the nonce, by version. They are authenticated. */
const HEAD_BYTES: Readonly<Record<number, number>> = { 1: 1, [VERSION]: 1 + KEY_ID_BYTES };
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
export const SECRET_KEY_BYTES = 32;

/** Reads the installation's secret key from its setting. Null: it is not 32 bytes in base64. */
export function parseSecretKey(setting: string): Buffer | null {
  const key = Buffer.from(setting, 'base64');
  const canonical = key.toString('base64').replace(/=+$/, '');
  return key.length === SECRET_KEY_BYTES && canonical === setting.replace(/=+$/, '') ? key : null;
}

/** Tells keys apart, and reveals nothing about the key. */
const keyId = (secretKey: Uint8Array): Buffer =>
  createHash('sha256').update('tidegate key id').update(secretKey).digest().subarray(0, KEY_ID_BYTES);

/**
 * Seals a text under a key of 32 bytes. Each call returns different bytes.
 * @throws RangeError when the key has another length
 */
export function seal(secretKey: Uint8Array, plaintext: string): Buffer {
  const head = Buffer.concat([Buffer.of(VERSION), keyId(secretKey)]);
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', secretKey, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(head);
  const sealed = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()]);
  return Buffer.concat([head, nonce, cipher.getAuthTag(), sealed]);
}

/** True if a value names this key as the one that it was sealed under. Version 1 named none. */
export function underKey(secretKey: Uint8Array, sealed: Uint8Array): boolean {
  return sealed[0] === VERSION && keyId(secretKey).equals(sealed.subarray(1, 1 + KEY_ID_BYTES));
}

/**
 * Returns the text that was sealed under one of these keys. Null: it was sealed under another key,
 * was altered, or was never sealed.
 */
export function unseal(secretKeys: readonly Uint8Array[], sealed: Uint8Array): string | null {
  for (const secretKey of secretKeys) {
    if (sealed[0] === VERSION && !underKey(secretKey, sealed)) continue;
    const text = openUnder(secretKey, Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength));
    if (text !== null) return text;
  }
  return null;
}

function openUnder(secretKey: Uint8Array, bytes: Buffer): string | null {
  const headBytes = HEAD_BYTES[bytes[0] ?? 0];
  if (headBytes === undefined || bytes.length < headBytes + NONCE_BYTES + TAG_BYTES) return null;
  const tagAt = headBytes + NONCE_BYTES;
  const textAt = tagAt + TAG_BYTES;
  const nonce = bytes.subarray(headBytes, tagAt);
  const decipher = createDecipheriv('aes-256-gcm', secretKey, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(bytes.subarray(0, headBytes));
  decipher.setAuthTag(bytes.subarray(tagAt, textAt));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(textAt)), decipher.final()]).toString('utf8');
  } catch {
    return null;
  }
}
