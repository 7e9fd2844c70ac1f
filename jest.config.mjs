/** One run over every workspace; real Postgres and Redis are started once in globalSetup. */
export default {
  testEnvironment: 'node',
  testEnvironmentOptions: { customExportConditions: ['tidegate-source', 'node', 'node-addons'] },
  roots: ['<rootDir>/apps', '<rootDir>/packages', '<rootDir>/infra', '<rootDir>/tests'],
  testMatch: ['**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', '/dist/'],
  modulePathIgnorePatterns: ['/dist/'],
  extensionsToTreatAsEsm: ['.ts', '.tsx'],
  transform: {
    '^.+\\.tsx?$': [
      '@swc/jest',
      {
        jsc: { target: 'es2023', parser: { syntax: 'typescript', tsx: false } },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
  globalSetup: '<rootDir>/packages/testing/jest-setup.mjs',
  globalTeardown: '<rootDir>/packages/testing/jest-teardown.mjs',
  maxWorkers: 2,
  // How long a stuck test may hold the run up: generous, for machines that are busy with something else.
  testTimeout: 120_000,
};
