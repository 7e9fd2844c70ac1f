// @ts-check
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { Failure } from './terminal.mjs';

const TIMEOUT_MS = 5_000;
const STORES = [
  { variable: 'DATABASE_URL', store: 'Postgres', protocols: ['postgres:', 'postgresql:'], port: 5432 },
  { variable: 'REDIS_URL', store: 'Redis', protocols: ['redis:', 'rediss:'], port: 6379 },
];

/**
 * Fails if nothing listens where DATABASE_URL or REDIS_URL point, before the set-up takes its
 * minute. The start itself checks everything else about them.
 */
export async function checkGivenStores() {
  for (const { variable, store, protocols, port } of STORES) {
    const url = urlOf(variable);
    if (!url || !protocols.includes(url.protocol) || !url.hostname) continue;
    const host = url.hostname.replace(/^\[|\]$/g, '');
    const why = await whyNot(host, Number(url.port) || port);
    if (why === undefined) continue;
    throw new Failure(`${variable}: no connection to ${store} at ${url.host}: ${why}`, {
      hint: `Start that ${store} or correct ${variable}.\nTo use the built-in ${store} instead, unset ${variable}.`,
    });
  }
}

/** @param {string} variable */
function urlOf(variable) {
  try {
    const file = process.env[`${variable}_FILE`];
    return new URL((file ? readFileSync(file, 'utf8') : (process.env[variable] ?? '')).trim());
  } catch {
    return undefined;
  }
}

/**
 * @param {string} host
 * @param {number} port
 * @returns {Promise<string | undefined>} undefined: something listens
 */
async function whyNot(host, port) {
  const socket = connect({ host, port });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(TIMEOUT_MS) });
    return undefined;
  } catch (error) {
    const { name, message, code } = /** @type {NodeJS.ErrnoException} */ (error);
    return name === 'AbortError' ? `no answer within ${TIMEOUT_MS / 1000} s` : message || code;
  } finally {
    socket.destroy();
  }
}
