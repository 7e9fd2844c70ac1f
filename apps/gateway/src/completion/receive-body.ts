import type { Refusal } from '@tidegate/contracts';
import { LIMITS } from '@tidegate/limits';
import type { Principal } from '../auth/principals.ts';
import { readBody } from '../body/read-body.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Gateway } from './gateway.ts';
import { BUSY, INTERNAL_ERROR } from './refusals.ts';

/**
 * The whole body, within its time and size, and within what all requests may hold together. A large one takes one of its
 * organization's slots, to the end of the request.
 */
export async function receiveBody(
  gateway: Gateway,
  exchange: Exchange,
  { orgId }: Principal,
): Promise<Buffer | Refusal> {
  const { config, limiter } = gateway;
  const takeLarge = async (): Promise<Refusal | null> => {
    const largeBody = limiter.hold(orgId, exchange.id);
    const result = await limiter.takeLargeBody(largeBody);
    if (result === null) return INTERNAL_ERROR;
    if (result === 'full') return TOO_MANY_LARGE_BODIES;
    exchange.largeBody = largeBody;
    return null;
  };
  const read = await readBody(exchange.request, {
    timeoutMs: config.BODY_TIMEOUT_MS,
    maxBytes: LIMITS.visionBodyMaxBytes,
    largeBytes: LIMITS.largeBodyMinBytes,
    takeLarge,
    claim: (bytes) => takeBytes(gateway, exchange, bytes),
    signal: () => exchange.signal,
  });
  if (read.ok) return read.body;
  return read.aborted ? CLIENT_CLOSED : read.refusal;
}

/** Takes memory for what an authenticated request sends or brings along, until `forgetBody`. */
export function takeBytes({ bodyBudget }: Gateway, exchange: Exchange, bytes: number): Refusal | null {
  if (!bodyBudget.take(exchange.orgId as string, bytes)) return BUSY;
  exchange.bodyBytesTaken += bytes;
  return null;
}

/** The request's memory is free again. */
export function forgetBody({ bodyBudget }: Gateway, exchange: Exchange): void {
  if (exchange.bodyBytesTaken > 0) bodyBudget.giveBack(exchange.orgId as string, exchange.bodyBytesTaken);
  exchange.bodyBytesTaken = 0;
}

/** Gives the slot back, if the request holds one. */
export async function releaseLargeBody({ limiter }: Gateway, exchange: Exchange): Promise<void> {
  const { largeBody } = exchange;
  exchange.largeBody = null;
  if (largeBody && exchange.aborted !== 'lease_lost') await limiter.releaseLargeBody(largeBody);
}

/** Nobody is there to read it. */
const CLIENT_CLOSED: Refusal = { code: 'invalid_request', message: 'The body did not arrive completely.' };

const TOO_MANY_LARGE_BODIES: Refusal = {
  code: 'rate_limit_exceeded',
  cause: 'large_bodies',
  message: `The organization has ${LIMITS.largeBodiesAtOncePerOrg} requests over 2 MiB in progress, the most at once.`,
  retryAfterS: LIMITS.retryAfterSeconds.largeBodies,
};
