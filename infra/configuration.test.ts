import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';

const HERE = import.meta.dirname;
/** Read by Node or by OpenTelemetry's exporter, not by the programs. */
const READ_ELSEWHERE = ['NODE_OPTIONS', 'NODE_EXTRA_CA_CERTS', 'OTEL_EXPORTER_OTLP_COMPRESSION'];
/** What the names of secrets look like: of keys, tokens, passwords, and logins in URLs. */
const SECRET_NAME = /SECRET|TOKEN|PASSWORD|_HEADERS$|^(DATABASE|REDIS)_URL$/;
const PROGRAMS = ['gateway', 'limiter', 'metering', 'runner', 'console', 'ctl', 'migrate'];

interface Variable {
  readonly name: string;
  readonly secret: boolean;
}
let stderr: string;
let variables: Record<string, Variable[]>;
beforeAll(async () => {
  const generate = join(HERE, 'configuration/generate.mjs');
  const run = promisify(execFile)(process.execPath, [generate, '--check']);
  const said = await run.catch((error: { stdout: string; stderr: string }) => error);
  stderr = said.stderr;
  variables = JSON.parse(said.stdout);
});

it('docs/configuration.md has every variable as the programs read it, with a description', () => {
  expect(stderr).toBe('');
});

it('each variable that may hold a secret may also name a file that has it', () => {
  const all = Object.entries(variables).flatMap(([program, of]) =>
    of.map(({ name, secret }) => ({ name: `${program}: ${name}`, looks: SECRET_NAME.test(name), secret })),
  );
  expect(all.filter(({ looks }) => looks).length).toBeGreaterThan(20);
  expect(all.filter(({ looks, secret }) => looks !== secret)).toEqual([]);
});

describe('a deployment sets only variables that the program reads', () => {
  const known = (program: string): string[] =>
    (variables[program] ?? []).flatMap(({ name, secret }) => (secret ? [name, `${name}_FILE`] : [name]));
  const unknown = (program: string, names: readonly string[]): string[] =>
    names.filter((name) => !READ_ELSEWHERE.includes(name) && !known(program).includes(name));

  it('in docker-compose.yml', () => {
    const { services } = parse(readFileSync(join(HERE, '../docker-compose.yml'), 'utf8'), { merge: true });
    const wrong = [...PROGRAMS, 'bootstrap'].flatMap((service) => {
      const names = Object.keys(services[service].environment);
      expect(names).not.toEqual([]);
      return unknown(service === 'bootstrap' ? 'ctl' : service, names).map((name) => `${service}: ${name}`);
    });
    expect(wrong).toEqual([]);
  });

  it('in the manifests for Kubernetes', () => {
    const files = readdirSync(join(HERE, 'kubernetes'), { recursive: true, encoding: 'utf8' });
    const containers = files
      .filter((file) => file.endsWith('.yaml'))
      .flatMap((file) => parseAllDocuments(readFileSync(join(HERE, 'kubernetes', file), 'utf8')))
      .map((document) => document.toJS())
      .flatMap((object) => (object?.spec?.template ?? object)?.spec?.containers ?? [])
      .filter(({ name, env }) => name in variables && env);
    expect([...new Set(containers.map(({ name }) => name))].sort()).toEqual([...PROGRAMS].sort());
    const wrong = containers.flatMap(({ name, env }) =>
      unknown(
        name,
        env.map((variable: { name: string }) => variable.name),
      ).map((variable) => `${name}: ${variable}`),
    );
    expect(wrong).toEqual([]);
  });
});
