import type { Problem } from './inspect.ts';

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
