import { problemWith } from './description.ts';

interface Chunk {
  readonly id: string;
  readonly created: number;
  readonly model: string;
  readonly choices: readonly {
    readonly delta: { readonly role?: string };
    readonly finish_reason: unknown;
  }[];
  readonly usage?: unknown;
}

const DONE = '[DONE]';

/**
 * What is wrong with the events of a stream. Each must fit the schema, and their order must be
 * right.
 *
 * @param over whether the server ended the stream normally, so that it is complete; if not, the
 * last event may be cut, and more events may have been due
 * @param usageAsked whether the request asked for the usage; null: it is not known
 */
export function problemsOfStream(
  text: string,
  over: boolean,
  schema: string,
  usageAsked: boolean | null,
): string[] {
  const events = text.split('\n\n');
  const rest = events.pop();
  if (over && rest !== '') return [`the last event is not ended: ${shown(rest ?? '')}`];
  if (over && events.length === 0) return ['a stream has at least one event'];
  const problems: string[] = [];
  const chunks: Chunk[] = [];
  for (const [index, event] of events.entries()) {
    if (event === `data: ${DONE}`) {
      if (index !== events.length - 1) problems.push('something follows [DONE]');
      if (!chunks.some(isLast)) problems.push('[DONE] comes before a finish reason');
      return [...problems, ...problemsOfOrder(chunks, usageAsked)];
    }
    const chunk = chunkOf(event);
    const problem = chunk === undefined ? 'is no data line with JSON' : problemWith(schema, chunk);
    if (problem !== null) return [...problems, `event ${index} ${problem}: ${shown(event)}`];
    chunks.push(chunk as Chunk);
  }
  if (over) problems.push('it ended normally, but is not complete');
  return [...problems, ...problemsOfOrder(chunks, usageAsked)];
}

function chunkOf(event: string): unknown {
  if (!/^data: [^\n]+$/.test(event)) return undefined;
  try {
    return JSON.parse(event.slice('data: '.length));
  } catch {
    return undefined;
  }
}

const isLast = ({ choices }: Chunk): boolean => (choices[0]?.finish_reason ?? null) !== null;

function problemsOfOrder(chunks: readonly Chunk[], usageAsked: boolean | null): string[] {
  const problems: string[] = [];
  if (new Set(chunks.map(({ id, created, model }) => `${id} ${created} ${model}`)).size > 1)
    problems.push('id, created or model differ between chunks');
  const isRole = ({ choices }: Chunk) => choices[0]?.delta.role !== undefined;
  if (chunks.some((chunk, index) => isRole(chunk) !== (index === 0)))
    problems.push('the first chunk, and it alone, has the role');
  const finish = chunks.findIndex(isLast);
  const usage = chunks.findIndex((chunk) => 'usage' in chunk);
  if (usage !== -1 && (finish === -1 || usage !== chunks.length - 1))
    problems.push('usage is not in the one extra chunk at the end');
  if (usage !== -1 && usageAsked === false) problems.push('nobody asked for the usage');
  const after = chunks.length - 1 - (usage === -1 ? 0 : 1);
  if (finish !== -1 && finish !== after) problems.push('text follows the finish reason');
  return problems;
}

const MAX_SHOWN = 300;
const shown = (text: string) => (text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);
