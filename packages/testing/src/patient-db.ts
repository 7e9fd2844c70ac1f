/** Options of `createDb` for tests: on a busy machine, slow is not wrong. */
export const PATIENT_DB = { connectTimeoutMs: 60_000, transactionTimeoutMs: 60_000 } as const;
