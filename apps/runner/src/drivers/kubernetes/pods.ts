import type { CoreV1Event, V1ContainerStatus, V1Pod } from '@kubernetes/client-node';

/** Why a workload's pods are not ready yet. */
export interface PodProblem {
  /** A sentence for users. It contains no container's output, and nothing that a program wrote. */
  readonly reason: string;
  /** It is unlikely to go away by itself. */
  readonly lasting: boolean;
  /** Most starts are like this for a while, however long their model takes. */
  readonly usual?: boolean;
}

const IMAGE = new Set([
  'ImagePullBackOff',
  'ErrImagePull',
  'InvalidImageName',
  'ErrImageNeverPull',
  'ImageInspectError',
  'RegistryUnavailable',
]);
/** The messages of these name a secret, a config map or a key that is missing. */
const CONFIG = new Set(['CreateContainerConfigError']);
/** The messages of these may contain parts of the command. */
const CREATION = new Set(['CreateContainerError', 'RunContainerError', 'PreCreateHookError', 'StartError']);
/** Events that say something useful, and whose messages quote no program. */
const TELLING_EVENTS = new Set([
  'FailedCreate',
  'FailedScheduling',
  'FailedMount',
  'FailedAttachVolume',
  'FailedCreatePodSandBox',
]);

/** The worst problem that keeps live pods from being ready. Null: none is known. */
export function podProblemOf(pods: readonly V1Pod[]): PodProblem | null {
  const problems = pods
    .filter(({ metadata }) => !metadata?.deletionTimestamp)
    .flatMap((pod) => [...ofContainers(pod), ...ofPod(pod)]);
  return problems.find(({ lasting }) => lasting) ?? problems[0] ?? null;
}

/** How a pod has failed, as a sentence. */
export function podFailureOf({ metadata, status }: V1Pod): string {
  return `Pod ${clean(metadata?.name)} failed (${clean(status?.reason) || 'no reason given'}).`;
}

/** What a Warning event says that a pod's status does not. Null: none says anything. */
export function eventProblemOf(events: readonly CoreV1Event[]): PodProblem | null {
  const telling = events.filter(({ reason }) => TELLING_EVENTS.has(reason ?? ''));
  const last = telling.sort((a, b) => timeOf(a) - timeOf(b)).at(-1);
  if (!last) return null;
  const message = clean(last.message).replace(COMBINED, '');
  return { reason: `${last.reason}: ${message}.`, lasting: false };
}

/** The prefix of the message of an event that stands for several. */
const COMBINED = /^\(combined from similar events\): /;

const timeOf = ({ lastTimestamp, eventTime, metadata }: CoreV1Event): number =>
  new Date(lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? 0).getTime();

/** A container that has ended this often is not starting: it is crashing. */
const CRASHES = 3;

function ofPod({ metadata, status }: V1Pod): PodProblem[] {
  const name = clean(metadata?.name);
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status !== 'False') return [];
  const why = clean(scheduled.message) || clean(scheduled.reason);
  return [{ reason: `Pod ${name} cannot be scheduled (Unschedulable): ${why}.`, lasting: false }];
}

function ofContainers({ status }: V1Pod): PodProblem[] {
  const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return containers.flatMap(ofContainer);
}

function ofContainer(container: V1ContainerStatus): PodProblem[] {
  const { name, state, ready, image } = container;
  const reason = state?.waiting?.reason ?? '';
  const message = clean(state?.waiting?.message);
  const which = `container ${clean(name)}`;
  const crashing = container.restartCount >= CRASHES;
  if (IMAGE.has(reason))
    return [{ reason: `The image ${clean(image)} of ${which} cannot be pulled (${reason}).`, lasting: true }];
  if (reason === 'CrashLoopBackOff')
    return [{ reason: `The ${which} keeps crashing (${reason}): ${lastEnd(container)}.`, lasting: true }];
  if (CONFIG.has(reason))
    return [{ reason: `The ${which} cannot be created (${reason}): ${message}.`, lasting: true }];
  if (CREATION.has(reason)) return [{ reason: `The ${which} cannot be started (${reason}).`, lasting: true }];
  if (state?.running && !ready) {
    const crashed = container.restartCount > 0 ? `; ${lastEnd(container)}` : '';
    const usual = container.restartCount === 0;
    return [{ reason: `The ${which} runs but is not ready${crashed}.`, lasting: crashing, usual }];
  }
  // It ends again and again, and at the moment Kubernetes is not waiting to start it again.
  if (state?.terminated && container.restartCount > 0)
    return [{ reason: `The ${which} ends again and again: ${lastEnd(container)}.`, lasting: crashing }];
  return [];
}

/** How a container ended: reason and exit code, never what it printed or left as its message. */
function lastEnd({ lastState, state }: V1ContainerStatus): string {
  const end = state?.terminated ?? lastState?.terminated;
  if (!end) return 'it is not known how it ended';
  const signal = end.signal ? `, signal ${end.signal}` : '';
  return `it last ended with exit code ${end.exitCode}${signal} (${clean(end.reason) || 'no reason given'})`;
}

const MAX_LENGTH = 300;

/** One line of bounded length, without the full stop. */
function clean(text: string | undefined): string {
  const line = (text ?? '')
    .replace(/[\p{C}\p{Z}]+/gu, ' ')
    .trim()
    .replace(/\.$/, '');
  return line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH)}…` : line;
}
