import { type Answer, call } from '../../support/http.ts';
import type { Case } from './cases/case.ts';
import { type Connection, type HostileModel, playing } from './server.ts';
import type { World } from './world.ts';

/** The outcome of playing a case. */
export interface Performance {
  readonly answer: Answer;
  readonly reservationId: string;
  readonly calls: number;
  /** The connection on which it was played. */
  readonly connection: Connection;
  /**
   * Whether the gateway still had the connection when the client had its answer, or had already
   * sent the next request on it.
   */
  readonly kept: boolean;
  /** Status of a request with the same slot, sent as soon as the answer ended. */
  readonly next: number;
}

/** For a request that never reached the model. */
const NONE: Connection = { plays: [], closed: true };

export const WELL_BEHAVED = 'well behaved';
export const MODEL = 'tide';

/** What the requests go through. */
interface Via {
  readonly gateway: string;
}

export const ask = (
  { gateway }: Via,
  key: string,
  play: string,
  streamed: boolean,
  model = MODEL,
): Promise<Answer> =>
  call(gateway.replace('/v1', ''), {
    key,
    headers: { 'content-type': 'application/json' },
    body: {
      model,
      messages: [{ role: 'user', content: playing(play) }],
      ...(streamed && { stream: true, stream_options: { include_usage: true } }),
    },
  });

export const idOf = ({ headers }: Answer): string => String(headers['x-request-id']).replace(/^req_/, '');

export const titleOf = ({ name, streamed }: Case): string => `${streamed ? 'stream' : 'whole'}: ${name}`;

/**
 * Works through the tasks with all slots of the organization in parallel, or with the given number
 * of them.
 */
export async function withEverySlot<T>(
  world: World,
  tasks: readonly T[],
  work: (task: T, key: string) => Promise<void>,
  slots = world.keys.length,
): Promise<void> {
  const left = [...tasks].reverse();
  const lane = async (key: string) => {
    for (let task = left.pop(); task !== undefined; task = left.pop()) await work(task, key);
  };
  await Promise.all(world.keys.slice(0, slots).map(lane));
}

/** Plays every case once, the slow ones through a gateway of their own if there is one. */
export async function perform(
  world: World,
  model: HostileModel,
  cases: readonly Case[],
  { slots, forSlow = world }: { readonly slots?: number; readonly forSlow?: Via } = {},
): Promise<Map<Case, Performance>> {
  const performances = new Map<Case, Performance>();
  const slowFirst = [...cases].sort((a, b) => Number(b.slow ?? false) - Number(a.slow ?? false));
  const play = async (task: Case, key: string) => {
    const title = titleOf(task);
    model.stage(title, task.play);
    const answer = await ask(task.slow ? forSlow : world, key, title, task.streamed);
    const [connection = NONE] = model.visits(title);
    const kept = !connection.closed || connection.plays.at(-1) !== title;
    const next = await ask(world, key, WELL_BEHAVED, false);
    const reservationId = idOf(answer);
    const calls = model.calls(title);
    performances.set(task, { answer, reservationId, calls, connection, kept, next: next.status });
  };
  await withEverySlot(world, slowFirst, play, slots);
  return performances;
}
