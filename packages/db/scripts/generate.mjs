/**
 * Generates the Prisma client into src/generated, unless it is up to date with the schema and with
 * Prisma. It runs the generator as `prisma generate` does, but needs neither the 170 MB command
 * line nor a network.
 */
import { createHash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);
const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const schemaPath = join(root, 'prisma', 'schema.prisma');
const output = join(root, 'src', 'generated');
const stampFile = join(output, '.stamp');

const stamp = createHash('sha256')
  .update(readFileSync(schemaPath))
  .update(readFileSync(join(root, 'package.json')))
  .digest('hex');

function upToDate() {
  try {
    return readFileSync(stampFile, 'utf8') === stamp;
  } catch {
    return false;
  }
}

async function generate() {
  const { PrismaClientTsGenerator } = require('@prisma/client-generator-ts');
  const { getGenerators, loadSchemaContext } = require('@prisma/internals');
  rmSync(output, { recursive: true, force: true });
  const schemaContext = await loadSchemaContext({
    schemaPath: { cliProvidedPath: schemaPath },
    printLoadMessage: false,
  });
  const generators = await getGenerators({
    schemaContext,
    registry: { 'prisma-client': { type: 'in-process', generator: new PrismaClientTsGenerator() } },
  });
  for (const generator of generators) {
    await generator.generate();
    generator.stop();
  }
  writeFileSync(stampFile, stamp);
}

if (!upToDate()) await generate();
