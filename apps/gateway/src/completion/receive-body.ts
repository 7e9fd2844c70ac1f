import { LIMITS } from '@tidegate/limits';
import { type Body, readBody } from '../body/read-body.ts';
import { type EarlyEnd, isAborted } from '../ending.ts';
import type { Gateway } from '../gateway.ts';
import type { Completion } from './completion.ts';

/**
 * Reads the whole body within its time and size limits, the memory that all requests share, and its
 * organization's turns. A large body takes one of its organization's slots until the request ends.
 */
export async function receiveBody(
  { config, readTurns }: Gateway,
  { exchange, held }: Completion,
): Promise<Body | EarlyEnd> {
  const body = await readBody(exchange.request, {
    invite: () => exchange.inviteBody(),
    timeoutMs: config.BODY_TIMEOUT_MS,
    maxBytes: LIMITS.visionBodyMaxBytes,
    largeBytes: LIMITS.largeBodyMinBytes,
    takeLarge: () => held.takeLargeBody(),
    claim: (bytes) => held.takeBytes(bytes),
    turn: (bytes) => readTurns.take(held.orgId, bytes),
    signal: () => {
      exchange.bodyAwaited = true;
      return exchange.signal;
    },
  });
  return isAborted(body) ? exchange.abort(body.reason) : body;
}
