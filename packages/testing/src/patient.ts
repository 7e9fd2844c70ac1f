/** Options of `createDb` for tests: on a busy machine, slow is not wrong. */
export const PATIENT_DB = { connectTimeoutMs: 60_000, transactionTimeoutMs: 60_000 } as const;

/** The same for calls from control to limiters and runners. */
export const PATIENT_CALLS = { shownMs: 60_000, limiterMs: 60_000, runnerMs: 60_000 } as const;
