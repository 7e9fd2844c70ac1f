import { codeText } from '../errors/advice.ts';
import type { Named } from './choices.ts';

/** How counted requests can end without a complete answer. */
const CODES = [
  ...['upstream_error', 'model_refused', 'model_unavailable', 'client_closed', 'stream_limit'],
  ...['internal_error', 'shutdown', 'gateway_lost', 'lease_lost'],
];

export const ENDS: readonly Named[] = CODES.map((code) => ({ id: code, name: codeText(code) }));
