/**
 * A Prisma generator that writes the parsed schema as JSON, for the test that holds it against the migrated database.
 * Speaks Prisma's generator protocol: JSON-RPC, requests on stdin, responses on stderr.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const methods = {
  getManifest: () => ({ manifest: { prettyName: 'Schema as JSON', defaultOutput: '.' } }),
  generate: ({ generator, dmmf }) => {
    writeFileSync(join(generator.output.value, 'dmmf.json'), JSON.stringify(dmmf.datamodel));
    return null;
  },
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  process.stderr.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: methods[method](params) })}\n`);
});
