/**
 * One run over every workspace. Its Postgres starts once, in globalSetup. So does the stack that
 * test files share, if one asks for it.
 */
export default {
  testEnvironment: '<rootDir>/tests/support/jest-environment.mjs',
  testEnvironmentOptions: { customExportConditions: ['tidegate-source', 'node', 'node-addons'] },
  roots: ['<rootDir>/apps', '<rootDir>/packages', '<rootDir>/infra', '<rootDir>/tests'],
  testMatch: ['**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', '/dist/'],
  modulePathIgnorePatterns: ['/dist/'],
  moduleNameMapper: { '^fast-check$': '<rootDir>/packages/testing/fast-check.mjs' },
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
  globalSetup: '<rootDir>/tests/support/jest-setup.mjs',
  globalTeardown: '<rootDir>/tests/support/jest-teardown.mjs',
  testSequencer: '<rootDir>/infra/test-order.mjs',
  // More than the two cores that the suite is made for, because many tests wait for real time: four
  // workers leave a tenth of both cores idle, and three a quarter.
  maxWorkers: 5,
  // How long a stuck test may hold up the run. Generous, for machines that are busy with other
  // work.
  testTimeout: 240_000,
};
