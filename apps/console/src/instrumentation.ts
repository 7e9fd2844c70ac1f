import type { Instrumentation } from 'next';
import { services } from './server/services.ts';

/**
 * The framework answers a failed screen itself, and calls this. Its route is told by its pattern: paths hold invitations'
 * tokens.
 */
export const onRequestError: Instrumentation.onRequestError = (err, _request, { routePath, routeType }) => {
  services().logger.error({ err, routePath, routeType }, 'a screen failed');
};
