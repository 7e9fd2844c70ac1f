import { get } from './get.ts';
import { misconfigured, type Problem } from './inspect.ts';

/**
 * For a server whose health path was given: whether it answers there. Nothing else is known of the
 * path, so any other answer below 500 is healthy.
 */
export async function probeHealth(
  url: string,
  key: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Problem | null> {
  const answer = await get({ url, key, timeoutMs }, signal);
  if (typeof answer === 'string') return { kind: 'no_answer', words: answer };
  const { status } = answer;
  if (status >= 500) return { kind: 'no_answer', words: `HTTP ${status}` };
  const path = new URL(url).pathname;
  if (status === 404) return misconfigured(`There is nothing at the health path ${path} (404).`);
  if (status !== 401 && status !== 403) return null;
  return misconfigured(
    key
      ? `The server refused the upstream key at the health path ${path} (${status}).`
      : `The server asks for an upstream key at the health path ${path} (${status}), and the model has none.`,
  );
}

const MAX_SENTENCES = 3;

/** Says what is wrong with the servers of one model. */
export function describeProblems(problems: readonly Problem[]): string {
  const words = problems.flatMap((problem) => (problem.kind === 'no_answer' ? problem.words : []));
  const silent = [...new Set(words)].join(', ');
  const many = problems.length > 1;
  if (words.length === problems.length) {
    const who = many ? `None of its ${problems.length} servers answers` : 'Its server does not answer';
    return `${who} (${silent}).`;
  }
  const sentences = problems.flatMap((problem) => (problem.kind === 'misconfigured' ? problem.sentence : []));
  const distinct = [...new Set(sentences)].slice(0, MAX_SENTENCES);
  const others = silent ? [`Others do not answer (${silent}).`] : [];
  const lead = many ? [`None of its ${problems.length} servers can be called.`] : [];
  return [...lead, ...distinct, ...others].join(' ');
}
