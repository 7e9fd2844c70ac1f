// Runs all benches, one after the other: npm run bench [-- --quick] [--minutes N] [--write]
//
// --quick shortens the gateway's bench to a minute. --minutes begins no bench after that time.
// --write puts the results into docs/performance.md and draws docs/performance.svg. Use an idle
// machine: benches share its cores with what they measure. It takes under half an hour. A bench
// that fails or takes too long is reported, and the others continue.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, release, tmpdir, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { chart } from './gateway/chart.mjs';
import { table } from './gateway/report.mjs';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const PAGE = join(ROOT, 'docs/performance.md');
const PICTURE = join(ROOT, 'docs/performance.svg');
const MEASURED = /(?<=<!-- measured -->\n)[\s\S]*(?=<!-- \/measured -->)/;
/** With arguments that keep all of them within half an hour. */
const OTHERS = [
  { title: 'The limiter: decisions a second', script: 'bench/decisions.mjs', args: ['32,64'] },
  { title: 'Metering: settlements a second', script: 'bench/metering.mjs', args: [] },
  { title: 'At rest', script: 'bench/idle.mjs', args: [] },
  { title: 'Waking a model for 500 callers', script: 'bench/wake.mjs', args: [] },
  {
    title: "One key's worst bodies beside another organization",
    script: 'bench/flood.mjs',
    args: ['--shape', 'unknown fields,nested,text parts,escapes', '--kib', '31,240,2000'],
  },
  { title: '600 and 5,000 streams at once', script: 'bench/streams.mjs', args: ['--rounds', '2'] },
  {
    title: 'Bodies of 20 MiB beside other streams',
    script: 'bench/large-body.mjs',
    args: ['--rounds', '2', '--seconds', '3'],
  },
  {
    title: 'More keys, more history, two gateways',
    script: 'bench/growth.mjs',
    args: ['--rounds', '2', '--seconds', '6'],
  },
];
const MAX_MINUTES = 12;
/** What a service of a bench logs. It is not what the bench measures. */
const LOG_LINES = /^\{"level".*\n/gm;
const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '60' },
    write: { type: 'boolean', default: false },
  },
});

/**
 * Runs one bench, shows its output, and resolves to that output. If the bench fails or takes too
 * long, the output ends with a line that says so.
 */
function bench(script, ...args) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [join(ROOT, script), ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let text = '';
    const show = (more) => {
      text += more;
      process.stdout.write(more);
    };
    const late = setTimeout(() => child.kill('SIGKILL'), MAX_MINUTES * 60_000);
    child.stdout.setEncoding('utf8').on('data', show);
    child.on('close', (code, signal) => {
      clearTimeout(late);
      if (signal) show(`${script} took over ${MAX_MINUTES} minutes and was ended.\n`);
      else if (code !== 0) show(`${script} ended with ${code}: it failed or missed a goal.\n`);
      // The first line keeps its indent, by which it stands in line with the others.
      resolve(text.replace(LOG_LINES, '').replace(/^\n+/, '').trimEnd());
    });
  });
}

function machine() {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], {
    cwd: ROOT,
    encoding: 'utf8',
  }).trim();
  const [cpu] = cpus();
  const gib = Math.round(totalmem() / 2 ** 30);
  return `${new Date().toISOString().slice(0, 10)}, commit ${commit}, Node ${process.versions.node}, ${cpus().length} cores (${cpu.model.trim()}), ${gib} GiB, Linux ${release()}.`;
}

/** Wraps a line at 100 columns, like the rest of the page. */
const wrapped = (line) => line.replace(/(?=.{101})(.{1,100}) /g, '$1\n');

const dir = mkdtempSync(join(tmpdir(), 'tidegate-bench-'));
try {
  const json = join(dir, 'gateway.json');
  const output = await bench('bench/gateway.mjs', '--json', json, ...(values.quick ? ['--quick'] : []));
  const { measured, rounds, seconds } = existsSync(json)
    ? JSON.parse(readFileSync(json, 'utf8'))
    : { measured: [], rounds: 0, seconds: 0 };
  const parts = [
    wrapped(machine()),
    wrapped(
      `Medians of ${rounds} interleaved rounds of ${seconds} s; "spread" is the fastest round over the slowest.`,
    ),
    ...measured.map((load) => `**${load.load}**\n\n${table(load)}`),
    // What it prints after the last table.
    wrapped(output.split('\n').at(-1)),
  ];
  for (const { title, script, args } of values.quick ? [] : OTHERS) {
    process.stdout.write(`\n${title}\n`);
    if (performance.now() > Number(values.minutes) * 60_000) {
      process.stdout.write('Left out, for lack of time.\n');
      continue;
    }
    parts.push(`**${title}**\n\n\`\`\`\n${await bench(script, ...args)}\n\`\`\``);
  }
  if (values.write) {
    writeFileSync(
      PAGE,
      readFileSync(PAGE, 'utf8').replace(MEASURED, () => `\n${parts.join('\n\n')}\n\n`),
    );
    if (measured.length > 0) writeFileSync(PICTURE, chart(measured[0]));
  }
} finally {
  rmSync(dir, { recursive: true, force: true });
}
