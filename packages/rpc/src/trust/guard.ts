import { createHash, timingSafeEqual } from 'node:crypto';
import {
  InterceptingCall,
  type Interceptor,
  type Metadata,
  ServerInterceptingCall,
  type ServerInterceptor,
  status,
} from '@grpc/grpc-js';
import type { CallerName } from '@tidegate/contracts';
import type { ServiceToken } from '@tidegate/runtime';
import { servicesAllowed } from './rules.ts';

const HEADER = 'authorization';
const SCHEME = 'Bearer ';

/** Why a call is refused. For the caller and for logs: it never contains a token. */
export interface CallRefusal {
  readonly code: status.UNAUTHENTICATED | status.PERMISSION_DENIED;
  readonly details: string;
}

/** Sends the token with every call. */
export const sendToken =
  (token: string): Interceptor =>
  (options, nextCall) =>
    new InterceptingCall(nextCall(options), {
      start(metadata, listener, next) {
        metadata.set(HEADER, SCHEME + token);
        next(metadata, listener);
      },
    });

/**
 * Lets a call through if the token that came with it belongs to a service that may make the call.
 * It decides when the call begins, before any of its messages is read.
 */
export function guardCalls(
  tokens: readonly ServiceToken[],
  onRefused: (refusal: CallRefusal, peer: string) => void,
): ServerInterceptor {
  const serviceOf = identify(tokens);
  return ({ path }, call) =>
    new ServerInterceptingCall(call, {
      start(next) {
        next({
          onReceiveMetadata(metadata, proceed) {
            const refusal = refusalOf(path, metadata, serviceOf);
            metadata.remove(HEADER);
            if (!refusal) return proceed(metadata);
            onRefused(refusal, call.getPeer());
            call.sendStatus(refusal);
          },
        });
      },
    });
}

function refusalOf(
  path: string,
  metadata: Metadata,
  serviceOf: (token: string) => CallerName | null,
): CallRefusal | null {
  const [header] = metadata.get(HEADER);
  if (typeof header !== 'string' || !header.startsWith(SCHEME))
    return { code: status.UNAUTHENTICATED, details: 'the call has no service token: set SERVICE_TOKEN' };
  const service = serviceOf(header.slice(SCHEME.length));
  if (!service)
    return {
      code: status.UNAUTHENTICATED,
      details: "the service token is not in the server's SERVICE_TOKENS",
    };
  if (servicesAllowed(path).includes(service)) return null;
  return { code: status.PERMISSION_DENIED, details: `the service ${service} may not call ${path}` };
}

/** Takes the same time whichever token it is given. */
function identify(tokens: readonly ServiceToken[]): (token: string) => CallerName | null {
  const digestOf = (text: string) => createHash('sha256').update(text).digest();
  const known = tokens.map(({ service, token }) => ({ service, digest: digestOf(token) }));
  return (token) => {
    const digest = digestOf(token);
    const found = known.filter((each) => timingSafeEqual(each.digest, digest));
    return found[0]?.service ?? null;
  };
}
