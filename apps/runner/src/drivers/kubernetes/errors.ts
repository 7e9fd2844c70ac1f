import { ApiError, type Workload } from './api.ts';

const KINDS = { deployment: 'Deployment', statefulset: 'StatefulSet' } as const;

export const titleOf = ({ namespace, kind, name }: Workload): string => `${KINDS[kind]} ${namespace}/${name}`;

export const isAbsent = (error: unknown): boolean => error instanceof ApiError && error.status === 404;

/**
 * Whether a right is missing. An API server that has just started says so about every right, until
 * it has read the roles.
 */
export const isForbidden = (error: unknown): boolean => error instanceof ApiError && error.status === 403;

/** A sentence for users. */
export function describeApiError(error: unknown, workload: Workload): string {
  if (!(error instanceof ApiError)) return 'Kubernetes could not be reached.';
  const { status, message } = error;
  if (status === 404) return `There is no ${titleOf(workload)}.`;
  if (status === 401) return "Kubernetes does not accept the runner's credentials (401).";
  if (status === 403) return `The runner lacks a permission in Kubernetes (403): ${message}.`;
  return status === 0
    ? `Kubernetes could not be reached (${message}).`
    : `Kubernetes answered ${status}: ${message}.`;
}
