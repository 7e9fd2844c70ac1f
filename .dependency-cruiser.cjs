// @ts-check
const swc = require('@swc/core');

/*
 * dependency-cruiser reads TypeScript through swc here, because TypeScript 7 has no JavaScript API.
 * It asks swc for plain TypeScript whatever the file's extension. This turns JSX on for files that
 * contain it.
 */
const parseFileSync = swc.parseFileSync;
/** @type {(file: string, options?: import('@swc/core').ParseOptions) => any} */
const parseByExtension = (file, options) =>
  parseFileSync(file, { syntax: 'typescript', ...options, tsx: file.endsWith('x') });
Object.assign(swc, { parseFileSync: parseByExtension });

const TEST = String.raw`(\.test\.tsx?$|^tests/|^bench/|^packages/testing/|^apps/[^/]+/src/testing/|^infra/[^/]+\.ts$)`;
/** Core modules that compute and nothing else. */
const PURE_CORE = '^(node:)?(assert|buffer|crypto|string_decoder|url|util|zlib)$';

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'Files that need each other are one idea: merge them, or take out what both need.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'resolvable',
      comment: 'An import that leads nowhere, or past a package index (workspaces export only their index).',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'app-not-to-app',
      comment: 'Apps meet over the network only.',
      severity: 'error',
      from: { path: '^apps/([^/]+)/' },
      to: { path: '^apps/', pathNot: '^apps/$1/' },
    },
    {
      name: 'package-not-to-app',
      comment: 'Packages are below apps.',
      severity: 'error',
      from: { path: '^packages/' },
      to: { path: '^apps/' },
    },
    {
      name: 'product-not-to-its-surroundings',
      comment: 'What ships knows nothing of the local stack, the tests and the benches.',
      severity: 'error',
      from: { path: '^(apps|packages)/' },
      to: { path: '^(infra|tests|bench)/' },
    },
    {
      name: 'through-the-index',
      // `url` is the other entry of packages/redis: parsing a URL loads no client. `call-failure`
      // is that of packages/rpc: naming a failure loads no gRPC. `settings` is that of
      // packages/runtime: reading a configuration loads no logger. `driver-settings` is one of
      // packages/contracts: the gateway loads none of it. `image-types` is another: browsers load
      // it. `model` is that of packages/limits: only tests load it. `hooks` is that of
      // packages/testing: only jest can load it.
      comment: 'A package is what its entries export.',
      severity: 'error',
      from: { path: '^(apps|packages|infra|tests|bench)/([^/]+)' },
      to: {
        path: '^packages/[^/]+/',
        pathNot: [
          '^packages/([^/]+/src/index|contracts/src/(driver-settings|image-types)|limits/src/model|redis/src/url|rpc/src/call-failure|runtime/src/settings|testing/src/hooks)\\.ts$',
          '^packages/$2/',
        ],
      },
    },
    {
      name: 'tests-use-public-surfaces',
      comment: 'End-to-end tests reach the apps from outside.',
      severity: 'error',
      from: { path: '^(tests|infra|bench)/' },
      to: { path: '^apps/' },
    },
    {
      name: 'pure-packages-import-pure-ones',
      comment: 'limits and contracts compute; whatever they use must do the same.',
      severity: 'error',
      from: { path: '^packages/(limits|contracts)/', pathNot: TEST },
      to: { path: '^packages/', pathNot: '^packages/(limits|contracts)/' },
    },
    {
      name: 'pure-packages-do-no-io',
      comment: 'limits and contracts do no I/O.',
      severity: 'error',
      from: { path: '^packages/(limits|contracts)/', pathNot: TEST },
      to: { dependencyTypes: ['core'], pathNot: PURE_CORE },
    },
    {
      name: 'pure-packages-have-no-clients',
      comment: 'limits and contracts do no I/O; zod is the one library they may use.',
      severity: 'error',
      from: { path: '^packages/(limits|contracts)/', pathNot: TEST },
      to: { path: 'node_modules/', pathNot: 'node_modules/zod/' },
    },
    {
      name: 'only-db-knows-prisma',
      comment: 'The generated client and its libraries are behind packages/db.',
      severity: 'error',
      from: { pathNot: '^packages/db/' },
      to: { path: '(^packages/db/src/generated/|node_modules/(@prisma/|prisma/|\\.prisma/))' },
    },
    {
      name: 'only-tracing-knows-opentelemetry',
      comment: 'Its SDK is loaded when tracing is on, by packages/tracing alone.',
      severity: 'error',
      from: { pathNot: '^packages/tracing/src/(sdk|outbound)\\.ts$' },
      to: { path: 'node_modules/@opentelemetry/' },
    },
    {
      name: 'gateway-knows-no-store',
      comment: 'The gateway decides nothing and stores nothing: it asks the limiter.',
      severity: 'error',
      from: { path: '^apps/gateway/', pathNot: TEST },
      to: { path: '(^packages/(db|control)/|node_modules/(ioredis|bullmq|pg)/)' },
    },
    {
      name: 'main-is-the-root',
      comment: 'main.ts composes an app; importing it would start one.',
      severity: 'error',
      from: {},
      to: { path: '^(apps|packages|infra)/[^/]+/src/main\\.tsx?$' },
    },
    {
      name: 'alias-is-for-screens',
      comment: '"#" leads to sources. What Next bundles may use it, what Node runs may not.',
      severity: 'error',
      from: { pathNot: '^apps/console/src/app/' },
      to: { dependencyTypes: ['aliased-subpath-import'] },
    },
    {
      name: 'test-harness-does-not-ship',
      comment: "packages/testing, an app's src/testing and the model in packages/limits are for tests.",
      severity: 'error',
      from: { path: '^(apps|packages|infra)/', pathNot: TEST },
      to: { path: '^(packages/testing/|packages/limits/src/model\\.ts$|apps/[^/]+/src/testing/)' },
    },
    {
      name: 'embedded-is-for-machines-without',
      comment: 'Only the local stack and the test harness bring their own Postgres and Redis.',
      severity: 'error',
      from: { path: '^(apps|packages)/', pathNot: [TEST, '^packages/embedded/'] },
      to: { path: '^packages/embedded/' },
    },
    {
      name: 'no-dev-dependency-at-run-time',
      comment: 'What ships may use only what its package.json lists as a dependency.',
      severity: 'error',
      from: { path: '^(apps|packages)/[^/]+/src/', pathNot: TEST },
      to: {
        dependencyTypes: ['npm-dev'],
        dependencyTypesNot: ['type-only'],
        pathNot: 'node_modules/@types/',
      },
    },
    {
      name: 'declared',
      comment: 'A library that no package.json names is there by accident.',
      severity: 'error',
      from: {},
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
  ],
  options: {
    parser: 'swc',
    doNotFollow: { path: ['node_modules', 'packages/db/src/generated'] },
    exclude: { path: ['/dist/', '/\\.next/', '/\\.turbo/'] },
    combinedDependencies: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['tidegate-source', 'import', 'node', 'default', 'types'],
      mainFields: ['module', 'main', 'types'],
      extensions: ['.ts', '.tsx', '.mjs', '.js', '.cjs', '.json'],
    },
  },
};
