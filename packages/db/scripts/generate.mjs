/**
 * Generates the Prisma client into src/generated, unless it is there already for this schema and this Prisma.
 * Works offline: the client needs no engine, so the schema engine Prisma would download is any executable.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const output = join(root, 'src', 'generated');
const stampFile = join(output, '.stamp');
const prismaManifest = createRequire(import.meta.url).resolve('prisma/package.json');

const stamp = createHash('sha256')
  .update(readFileSync(join(root, 'prisma', 'schema.prisma')))
  .update(readFileSync(join(root, 'prisma.config.ts')))
  .update(readFileSync(prismaManifest))
  .digest('hex');

function upToDate() {
  try {
    return readFileSync(stampFile, 'utf8') === stamp;
  } catch {
    return false;
  }
}

function generate() {
  rmSync(output, { recursive: true, force: true });
  const { bin } = JSON.parse(readFileSync(prismaManifest, 'utf8'));
  const cli = join(dirname(prismaManifest), typeof bin === 'string' ? bin : bin.prisma);
  const env = {
    ...process.env,
    PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
    PRISMA_HIDE_UPDATE_MESSAGE: '1',
    CHECKPOINT_DISABLE: '1',
    DO_NOT_TRACK: '1',
    NO_UPDATE_NOTIFIER: '1',
  };
  const run = spawnSync(process.execPath, [cli, 'generate', '--no-hints'], {
    cwd: root,
    env,
    encoding: 'utf8',
  });
  if (run.status !== 0) {
    process.stderr.write(`${run.stdout ?? ''}${run.stderr ?? ''}${run.error ?? ''}\n`);
    process.exit(run.status ?? 1);
  }
  mkdirSync(output, { recursive: true });
  writeFileSync(stampFile, stamp);
}

if (!upToDate()) generate();
