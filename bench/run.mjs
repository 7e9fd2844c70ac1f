// Runs all benches, one after the other: npm run bench [-- --quick] [--write]
//
// --quick shortens the gateway's bench to a minute. --write puts the results into
// docs/performance.md and draws docs/performance.svg. Use an idle machine: benches share its cores
// with what they measure.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
const OTHERS = [
  { title: '600 and 5,000 streams at once', script: 'bench/streams.mjs' },
  { title: 'Bodies of 20 MiB beside other streams', script: 'bench/large-body.mjs' },
  { title: "One key's worst bodies beside another organization", script: 'bench/flood.mjs' },
  { title: 'The limiter: decisions a second', script: 'bench/decisions.mjs' },
  { title: 'Metering: settlements a second', script: 'bench/metering.mjs' },
  { title: 'Pages of the console over 10 million requests', script: 'bench/console.mjs' },
  { title: 'More keys, more history, two gateways', script: 'bench/growth.mjs' },
];
const { values } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, write: { type: 'boolean', default: false } },
});

/** Runs one bench, shows its output, and resolves to that output. */
function bench(script, ...args) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(ROOT, script), ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
      process.stdout.write(chunk);
    });
    child.on('close', (code) =>
      code === 0 ? resolve(text) : reject(new Error(`${script} ended with ${code}`)),
    );
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
  await bench('bench/gateway.mjs', '--json', json, ...(values.quick ? ['--quick'] : []));
  const { measured, rounds, seconds } = JSON.parse(readFileSync(json, 'utf8'));
  const parts = [
    wrapped(machine()),
    wrapped(
      `Medians of ${rounds} interleaved rounds of ${seconds} s; "spread" is the fastest round over the slowest.`,
    ),
    ...measured.map((load) => `**${load.load}**\n\n${table(load)}`),
  ];
  for (const { title, script } of values.quick ? [] : OTHERS) {
    process.stdout.write(`\n${title}\n`);
    parts.push(`**${title}**\n\n\`\`\`\n${(await bench(script)).trim()}\n\`\`\``);
  }
  if (values.write) {
    writeFileSync(PAGE, readFileSync(PAGE, 'utf8').replace(MEASURED, `\n${parts.join('\n\n')}\n\n`));
    writeFileSync(PICTURE, chart(measured[0]));
  }
} finally {
  rmSync(dir, { recursive: true, force: true });
}
