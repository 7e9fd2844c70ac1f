import { type Answer, call } from '../../support/http.ts';
import type { Case } from './cases/case.ts';
import { type Connection, type HostileModel, playing } from './server.ts';
import type { World } from './world.ts';

/** What one performance of a case has left behind. */
export interface Performance {
  readonly answer: Answer;
  /** Which reservation it was. */
  readonly reservationId: string;
  readonly calls: number;
  /** The connection it was played on, and its place there. */
  readonly connection: Connection;
  /** When the client had its answer, the gateway still had the connection, or had given it the next request already. */
  readonly kept: boolean;
  /** Of a request with the same slot, sent the moment the answer was over. */
  readonly next: number;
}

/** Of a request that never reached the model. */
const NONE: Connection = { plays: [], closed: true };

export const WELL_BEHAVED = 'well behaved';
export const MODEL = 'tide';

export const ask = (
  world: World,
  key: string,
  play: string,
  streamed: boolean,
  model = MODEL,
): Promise<Answer> =>
  call(world.gateway.replace('/v1', ''), {
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

/** Works tasks off with every slot of the organization at once, or with so many of them, a task a slot at a time. */
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

/** Plays every case once. */
export async function perform(
  world: World,
  model: HostileModel,
  cases: readonly Case[],
  slots?: number,
): Promise<Map<Case, Performance>> {
  const performances = new Map<Case, Performance>();
  const slowFirst = [...cases].sort((a, b) => Number(b.slow ?? false) - Number(a.slow ?? false));
  const play = async (task: Case, key: string) => {
    const title = titleOf(task);
    model.stage(title, task.play);
    const answer = await ask(world, key, title, task.streamed);
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
