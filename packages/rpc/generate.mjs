// @ts-check
// Generates the types of proto/*.proto, for the options that src/definitions.ts loads them with,
// and one index of all types.
import { execFileSync } from 'node:child_process';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, 'src', 'generated');
const proto = join(here, '..', '..', 'proto');
const services = ['limiter', 'runner'];

const loader = dirname(createRequire(import.meta.url).resolve('@grpc/proto-loader/package.json'));
rmSync(out, { recursive: true, force: true });
execFileSync(process.execPath, [
  join(loader, 'build', 'bin', 'proto-loader-gen-types.js'),
  ...['--longs=Number', '--enums=String', '--defaults', '--oneofs', '--includeComments'],
  ...['--grpcLib=@grpc/grpc-js', '--targetFileExtension=.ts', '--importFileExtension=.ts'],
  `--outDir=${out}`,
  ...services.map((name) => join(proto, `${name}.proto`)),
]);

const lines = services.flatMap((name) => [
  `export type { ProtoGrpcType as ${name[0]?.toUpperCase()}${name.slice(1)}Proto } from './${name}.ts';`,
  ...readdirSync(join(out, 'tidegate', name, 'v1')).map(
    (file) => `export type * from './tidegate/${name}/v1/${file}';`,
  ),
]);
writeFileSync(join(out, 'index.ts'), `${lines.join('\n')}\n`);
