import type { Instrumentation } from 'next';
import { services } from './server/services.ts';

/**
 * The framework calls this when a screen fails, and answers the request itself. This logs the
 * route's pattern instead of the path, because paths can contain an invitation's token.
 */
export const onRequestError: Instrumentation.onRequestError = (err, _request, { routePath, routeType }) => {
  services().logger.error({ err, routePath, routeType }, 'a screen failed');
};
