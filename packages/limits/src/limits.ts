const KIB = 1024;
const MIB = 1024 * KIB;
const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;

/** The length of the sliding window for requests a minute. */
export const WINDOW_MS = MINUTE_MS;

/**
 * The contract's limits that are the same for every organization and plan (docs/conformance.md).
 */
export const LIMITS = {
  textBodyMaxBytes: 2 * MIB,
  visionBodyMaxBytes: 20 * MIB,
  /** A larger body takes one of its organization's large-body slots. */
  largeBodyMinBytes: 2 * MIB,
  largeBodiesAtOncePerOrg: 2,
  bodyTimeoutMs: 30 * SECOND_MS,

  minMessages: 1,
  maxMessages: 101,
  minMaxTokens: 1,
  maxMaxTokens: 8_192,
  defaultMaxTokens: 512,
  minTemperature: 0,
  maxTemperature: 2,
  defaultTemperature: 0,
  /** Exclusive. */
  minTopP: 0,
  maxTopP: 1,
  maxStops: 4,
  minStopCharacters: 1,
  maxStopCharacters: 64,
  choices: 1,

  maxImages: 4,
  imageLinkMaxCharacters: 2_048,
  /** 20 MB in decimal megabytes. Bodies are measured in MiB. */
  imageMaxBytes: 20_000_000,
  imageTimeoutMs: 10 * SECOND_MS,

  wholeAnswerTimeoutMs: 2 * MINUTE_MS,
  wholeAnswerMaxBytes: 2 * MIB,
  streamMaxMs: { alwaysOn: 10 * MINUTE_MS, wakeOnRequest: 5 * MINUTE_MS },
  streamPauseMs: 60 * SECOND_MS,
  streamMaxBytes: 8 * MIB,
  eventMaxBytes: 1 * MIB,

  coldStartMs: MINUTE_MS,
  retryAfterSeconds: { wakeOnRequestStarting: 15, alwaysOnStarting: 30, atOnce: 1, largeBodies: 1 },

  keyNameMaxCharacters: 80,
  keyMaxModels: 50,
  keyRequestsPerMinute: { min: 1, max: 6_000, default: 60 },
  keyRequestsAtOnce: { min: 1, max: 256, default: 4 },
  keysPerOrg: { notRevoked: 50, total: 1_000 },

  /** From one address. The last of them starts a block of `invalidKeyBlockMs` (ADR 0005). */
  invalidKeyPerMinute: 20,
  invalidKeyBlockMs: MINUTE_MS,

  passwordCharacters: { min: 8, max: 128 },

  usageDays: 30,
} as const;
