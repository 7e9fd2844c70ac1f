import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/*
 * Encrypts a secret at rest with AES-256-GCM, under the deployment's secret key. Layout: version
 * (1 byte, always 1), nonce (12 bytes), tag (16 bytes), ciphertext. The control package seals an
 * upstream's key, and only the runner opens it.
 */
const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEADER_BYTES = 1 + NONCE_BYTES + TAG_BYTES;
export const SECRET_KEY_BYTES = 32;

/** Reads the deployment's secret key from its setting. Null: it is not 32 bytes in base64. */
export function parseSecretKey(setting: string): Buffer | null {
  const key = Buffer.from(setting, 'base64');
  const canonical = key.toString('base64').replace(/=+$/, '');
  return key.length === SECRET_KEY_BYTES && canonical === setting.replace(/=+$/, '') ? key : null;
}

/**
 * Seals a text under a key of 32 bytes. Each call returns different bytes.
 * @throws RangeError when the key has another length
 */
export function seal(secretKey: Uint8Array, plaintext: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', secretKey, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.of(VERSION));
  const sealed = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()]);
  return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), sealed]);
}

/**
 * Returns the text that was sealed. Null: it was sealed under another key, was altered, or was
 * never sealed.
 */
export function open(secretKey: Uint8Array, sealed: Uint8Array): string | null {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
  if (bytes.length < HEADER_BYTES || bytes[0] !== VERSION) return null;
  const nonce = bytes.subarray(1, 1 + NONCE_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', secretKey, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(bytes.subarray(0, 1));
  decipher.setAuthTag(bytes.subarray(1 + NONCE_BYTES, HEADER_BYTES));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(HEADER_BYTES)), decipher.final()]).toString('utf8');
  } catch {
    return null;
  }
}
