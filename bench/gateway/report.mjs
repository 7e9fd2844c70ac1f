// Medians of rounds, as a table that is readable in a terminal and in Markdown.

const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** Summarizes the rounds of one target. */
export function summary({ name, rounds }) {
  const of = (field) => median(rounds.map((round) => round[field]));
  const names = Object.keys(rounds[0]?.cpuUs ?? {});
  const rates = rounds.map(({ perS }) => perS);
  return {
    name,
    perS: of('perS'),
    chunksPerS: of('chunksPerS'),
    /** The fastest round over the slowest. */
    spread: Math.max(...rates) / Math.min(...rates),
    p50Ms: of('p50Ms'),
    p99Ms: of('p99Ms'),
    failures: sum(rounds.map(({ failures }) => failures)),
    cpuUs: Object.fromEntries(names.map((key) => [key, median(rounds.map((round) => round.cpuUs[key]))])),
  };
}

const whole = (number) => Math.round(number).toLocaleString('en');
const cpuOf = ({ cpuUs }) =>
  Object.entries(cpuUs)
    .map(([name, us]) => `${name} ${whole(us)}`)
    .join(', ');

/** One row per target. */
export function table({ streamed, targets }) {
  const head = [
    '',
    streamed ? 'chunks/s' : 'requests/s',
    'p50 ms',
    'p99 ms',
    'spread',
    'CPU us a request',
    'failed',
  ];
  const rows = targets.map((target) => [
    target.name,
    whole(streamed ? target.chunksPerS : target.perS),
    target.p50Ms.toFixed(2),
    target.p99Ms.toFixed(1),
    target.spread.toFixed(2),
    cpuOf(target),
    String(target.failures),
  ]);
  const widths = head.map((_, i) => Math.max(...[head, ...rows].map((row) => row[i].length)));
  const line = (cells) => `| ${cells.map((cell, i) => cell.padEnd(widths[i])).join(' | ')} |`;
  return [line(head), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...rows.map(line)].join(
    '\n',
  );
}
