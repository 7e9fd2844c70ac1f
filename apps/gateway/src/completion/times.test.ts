import { describe, expect, it } from '@jest/globals';
import { LIMITS } from '@tidegate/limits';
import { readConfig } from '../config.ts';

const MIB = 1024 * 1024;

describe('without a word of the operator', () => {
  it("a model has the contract's times", () => {
    expect(readConfig({ LIMITER_ADDRESSES: 'limiter:1', RUNNER_ADDRESS: 'runner:1' })).toMatchObject({
      WHOLE_ANSWER_TIMEOUT_MS: 120_000,
      FIRST_EVENT_TIMEOUT_MS: 120_000,
      STREAM_PAUSE_MS: 60_000,
      STREAM_MAX_ALWAYS_ON_MS: 600_000,
      STREAM_MAX_WAKE_ON_REQUEST_MS: 300_000,
      COLD_START_MS: 60_000,
    });
  });

  it("its answer has the contract's sizes, which nobody can change", () => {
    expect(LIMITS).toMatchObject({
      wholeAnswerMaxBytes: 2 * MIB,
      streamMaxBytes: 8 * MIB,
      eventMaxBytes: MIB,
    });
  });
});
