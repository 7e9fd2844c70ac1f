// @ts-check
// Attacks the laws on real stacks. Build first. See README.md.
import { spawnSync } from 'node:child_process';
import { register } from 'node:module';

const HISTORIES = ['apps/limiter/src/admission', 'apps/limiter/src/recovery'];
const TIMES = '10';

if (process.argv.includes('--histories')) {
  const env = { ...process.env, TIDEGATE_TEST_CASES: TIMES };
  const { status } = spawnSync('npm', ['run', '-s', 'jest', '--', ...HISTORIES], { env, stdio: 'inherit' });
  process.exitCode = status ?? 1;
} else {
  register('./typescript.mjs', import.meta.url);
  await import('./campaign.ts');
}
