import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parseSync } from '@swc/core';
import { parse } from 'yaml';
import { anchorsOf, blocksOf, commandsOf, spansOf, targetsOf, wideLinesOf } from './docs/markdown.ts';
import { USAGE } from './local/src/arguments.ts';

const COLUMNS = 100;
const ROOT = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const run = (program: string, ...args: string[]): string =>
  execFileSync(program, args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 24 });

const tracked = run('git', 'ls-files', '-z')
  .split('\0')
  .filter((path) => path !== '' && existsSync(join(ROOT, path)));
const pages = new Map(tracked.filter((path) => path.endsWith('.md')).map((path) => [path, read(path)]));
const SOURCE = /\.(ts|tsx|mjs|cjs|json|sql|lua|proto|ya?ml|conf|acl|sh)$|Dockerfile$/;
const sources = tracked.filter((path) => SOURCE.test(path) && !/package-lock|\/generated\//.test(path));
const scripts: Record<string, string> = JSON.parse(read('package.json')).scripts;
const { services } = parse(read('docker-compose.yml'), { merge: true });

interface Command {
  readonly flags: readonly string[];
  readonly verbs: Readonly<Record<string, Command>>;
}
const ctl: Command = JSON.parse(run(process.execPath, 'infra/docs/commands.mjs'));

/** What is wrong on all pages. Each problem names its page. */
const wrong = (problemsOf: (page: string, path: string) => string[]): string[] =>
  [...pages].flatMap(([path, page]) => problemsOf(page, path).map((problem) => `${path}: ${problem}`));

/** Whether there is such a file and, if an anchor is given, such an anchor in it. */
function isThere(path: string, anchor: string | undefined): boolean {
  if (!existsSync(join(ROOT, path))) return false;
  return anchor === undefined || anchorsOf(pages.get(path) ?? '').has(anchor);
}

describe('what pages refer to is there', () => {
  it('as the files and headings that they link', () => {
    const dead = wrong((page, path) =>
      targetsOf(page).filter((target) => {
        if (/^(https?|mailto):/.test(target)) return false;
        const [file = '', anchor] = target.split('#');
        return !isThere(file === '' ? path : normalize(join(dirname(path), file)), anchor);
      }),
    );
    expect(dead).toEqual([]);
  });

  it('as the files that they name from the top of the repository', () => {
    const PATH = /^(apps|packages|infra|docs|tests|bench|proto|\.ci)\/[\w./-]*$/;
    const dead = wrong((page) =>
      spansOf(page).filter((span) => PATH.test(span) && !/NAME/.test(span) && !existsSync(join(ROOT, span))),
    );
    expect(dead).toEqual([]);
  });

  it('as the source files that they name by the end of their path', () => {
    const ends = new Set(
      tracked.flatMap((path) => path.split('/').map((_, i, names) => names.slice(i).join('/'))),
    );
    const FILE = /^[\w./-]+\.(ts|tsx|mjs|lua|proto|sql)$/;
    expect(wrong((page) => spansOf(page).filter((span) => FILE.test(span) && !ends.has(span)))).toEqual([]);
  });

  it('as names in capitals and metrics, which the code has', () => {
    const NAME = /^([A-Z][A-Z0-9]*(_[A-Z0-9]+)+|tidegate_[a-z_]+)$/;
    /** Variables of other programs. */
    const OTHERS = ['OLLAMA_CONTEXT_LENGTH'];
    const code = sources.map(read).join('\n') + read('docs/metrics.md') + read('docs/openapi.yaml');
    const words = new Set(code.match(/\b\w+_\w+\b/g));
    const isKnown = (name: string): boolean =>
      words.has(name) ||
      OTHERS.includes(name) ||
      words.has(name.replace(/_FILE$/, '')) ||
      words.has(name.replace(/^tidegate_/, ''));
    expect(wrong((page) => spansOf(page).filter((span) => NAME.test(span) && !isKnown(span)))).toEqual([]);
  });

  it('also where code and manifests name pages', () => {
    const dead = sources.flatMap((path) =>
      [...read(path).matchAll(/(?<![\w/.-])(docs\/[\w/-]+\.md)(?:#([\w-]+))?/g)]
        .filter(([, page = '', anchor]) => !isThere(page, anchor))
        .map(([text]) => `${path}: ${text}`),
    );
    expect(dead).toEqual([]);
  });
});

describe('the commands on pages exist', () => {
  const flagsIn = (command: string): string[] =>
    command.replace(/'[^']*'|"[^"]*"/g, '').match(/(?<![\w-])--[a-z][\w-]*/g) ?? [];

  it('as scripts of npm, with their flags', () => {
    const dead = wrong((page) =>
      commandsOf(page).flatMap((command) => {
        const [, name = '', args = ''] = /\bnpm (?:run (?:-s )?)?([\w:]+)(?: -- (.*))?/.exec(command) ?? [];
        if (name === '' || name === 'ctl' || !/npm (run|start|test)/.test(command)) return [];
        if (scripts[name] === undefined) return [`npm run ${name}`];
        const [main = ''] = /\S+\.mjs$/.exec(scripts[name] ?? '') ?? [];
        const known =
          name === 'start'
            ? USAGE
            : main && run('git', 'grep', '-hoE', '-e', "['-]-?[a-z-]+", '--', dirname(main));
        return flagsIn(args).filter((flag) => !known.includes(flag) && !known.includes(`'${flag.slice(2)}`));
      }),
    );
    expect(dead).toEqual([]);
  });

  /** What is wrong with a noun, a verb and flags. */
  function problemsOf(words: readonly string[], flags: readonly string[]): string[] {
    let at = ctl;
    for (const word of words) {
      const next: Command | undefined = at.verbs[word];
      if (!next) return Object.keys(at.verbs).length > 0 ? [`ctl ${words.join(' ')}`] : [];
      at = next;
    }
    return flags
      .filter((flag) => flag !== '--help' && flag !== '--version' && !at.flags.includes(flag))
      .map((flag) => `ctl ${words.join(' ')} ${flag}`);
  }
  const wordsIn = (command: string): string[] =>
    command.match(/^[a-z-]+(?: [a-z-]+)?(?![\w.:/=])/)?.[0].split(' ') ?? [];

  it('as nouns, verbs and flags of ctl', () => {
    const CALL = /(?:^|\s)(?:npm run -s ctl --|docker compose run --rm ctl|node main\.js|ctl) +(.+)$/;
    const nouns = Object.keys(ctl.verbs);
    const dead = wrong((page) => [
      ...commandsOf(page).flatMap((command) => {
        const [, call = ''] = CALL.exec(command) ?? [];
        return /^[a-z]/.test(call) ? problemsOf(wordsIn(call), flagsIn(call)) : [];
      }),
      ...spansOf(page).flatMap((span) => {
        const [noun = '', verb] = wordsIn(span);
        return nouns.includes(noun) && verb !== undefined ? problemsOf([noun, verb], flagsIn(span)) : [];
      }),
    ]);
    expect(dead).toEqual([]);
  });

  it('and docs/ctl.md lists all of them', () => {
    const listed = blocksOf(read('docs/ctl.md')).flatMap(({ text }) =>
      text.replace(/\\\n\s*/g, ' ').split('\n'),
    );
    /** Each verb takes the first two. A secret may come from standard input instead. */
    const unsaid = ['--org', '--json', '--password', '--upstream-key'];
    const wrongOf = (words: readonly string[], flags: readonly string[]): string[] => {
      const name = words.join(' ');
      const line = listed.find((text) => text === name || text.startsWith(`${name} `));
      if (line === undefined) return [`${name} is missing`];
      const missing = flags.filter((flag) => ![...unsaid, ...flagsIn(line)].includes(flag));
      // `model set` refers to `model publish`.
      const said = name === 'model set' ? [] : missing.map((flag) => `${name} ${flag} is missing`);
      return [...said, ...problemsOf(words, flagsIn(line))];
    };
    const found = Object.entries(ctl.verbs).flatMap(([noun, { verbs, flags }]) => {
      const own = Object.entries(verbs);
      if (own.length === 0) return wrongOf([noun], flags);
      return own.flatMap(([verb, command]) => wrongOf([noun, verb], command.flags));
    });
    expect(found).toEqual([]);
  });

  it('as services of docker-compose.yml', () => {
    const dead = wrong((page) =>
      commandsOf(page).flatMap((command) => {
        const [, verb, args = ''] =
          /docker compose (?:--profile \w+ )?(exec|run|stop|up)\b(.*)/.exec(command) ?? [];
        if (verb === undefined) return [];
        const scaled = [...args.matchAll(/--scale (\w+)=/g)].map(([, name = '']) => name);
        const named = args
          .replace(/--scale \S+/g, '')
          .split(' ')
          .filter((word) => /^[a-z]+$/.test(word));
        const names = [...scaled, ...(verb === 'stop' || verb === 'up' ? named : named.slice(0, 1))];
        return names.filter((name) => !(name in services)).map((name) => `docker compose ${verb} ${name}`);
      }),
    );
    expect(dead).toEqual([]);
  });
});

it('no argument of a command is SQL with a password, which lists of processes and a history would show', () => {
  expect(wrong((page) => commandsOf(page).filter((one) => / -c .*\bPASSWORD '/.test(one)))).toEqual([]);
});

it('blocks of JSON, YAML and JavaScript can be parsed, and the bodies that curl sends', () => {
  const parsers: Record<string, (text: string) => unknown> = {
    json: JSON.parse,
    yaml: parse,
    js: (text) => parseSync(text, { syntax: 'ecmascript' }),
  };
  const bad = wrong((page) =>
    blocksOf(page).flatMap(({ language, text }) => {
      const bodies = [...text.matchAll(/ -d '([^']*)'/g)].map(([, body = '']) => ['json', body] as const);
      return [[language, text] as const, ...bodies].flatMap(([name, content]) => {
        try {
          parsers[name]?.(content);
          return [];
        } catch (error) {
          return [`${name}: ${(error as Error).message.split('\n', 1)[0]}: ${content}`];
        }
      });
    }),
  );
  expect(bad).toEqual([]);
});

it(`text stays within ${COLUMNS} columns`, () => {
  expect(wrong((page) => wideLinesOf(page, COLUMNS))).toEqual([]);
});
