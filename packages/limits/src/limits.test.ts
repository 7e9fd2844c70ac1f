import { describe, expect, it } from '@jest/globals';
import { LIMITS, WINDOW_MS } from './limits.ts';

/** A second copy, so that no limit changes by mistake. */
describe('the limits of the contract', () => {
  it('on bodies have not changed [completions.body-time] [limit.body]', () => {
    expect(LIMITS).toMatchObject({
      textBodyMaxBytes: 2_097_152,
      visionBodyMaxBytes: 20_971_520,
      largeBodyMinBytes: 2_097_152,
      largeBodiesAtOncePerOrg: 2,
      bodyTimeoutMs: 30_000,
    });
  });

  it('on requests have not changed', () => {
    expect(LIMITS).toMatchObject({
      minMessages: 1,
      maxMessages: 101,
      minMaxTokens: 1,
      maxMaxTokens: 8192,
      defaultMaxTokens: 512,
      minTemperature: 0,
      maxTemperature: 2,
      defaultTemperature: 0,
      minTopP: 0,
      maxTopP: 1,
      choices: 1,
      maxStops: 4,
      minStopCharacters: 1,
      maxStopCharacters: 64,
    });
  });

  it('on images have not changed [image.link.size] [image.link.time] [limit.image-link] [limit.images]', () => {
    expect(LIMITS).toMatchObject({
      maxImages: 4,
      imageLinkMaxCharacters: 2048,
      imageMaxBytes: 20_000_000,
      imageTimeoutMs: 10_000,
    });
  });

  it('on answers have not changed [completions.whole.size] [completions.whole.time] [limit.stream.always-on] [limit.stream.pause] [limit.stream.wake-on-request] [limit.whole-answer]', () => {
    expect(LIMITS).toMatchObject({
      wholeAnswerTimeoutMs: 120_000,
      wholeAnswerMaxBytes: 2_097_152,
      streamMaxMs: { alwaysOn: 600_000, wakeOnRequest: 300_000 },
      streamPauseMs: 60_000,
      streamMaxBytes: 8_388_608,
      eventMaxBytes: 1_048_576,
    });
  });

  it('on times have not changed [state.model.asleep.late]', () => {
    expect(WINDOW_MS).toBe(60_000);
    expect(LIMITS).toMatchObject({
      coldStartMs: 60_000,
      retryAfterSeconds: { wakeOnRequestStarting: 15, alwaysOnStarting: 30, atOnce: 1, largeBodies: 1 },
    });
  });

  it('on keys have not changed [auth.invalid-keys.minute] [limit.invalid-keys]', () => {
    expect(LIMITS).toMatchObject({
      keyNameMaxCharacters: 80,
      keyMaxModels: 50,
      keysPerOrg: { notRevoked: 50, total: 1000 },
      keyRequestsPerMinute: { min: 1, max: 6000, default: 60 },
      keyRequestsAtOnce: { min: 1, max: 256, default: 4 },
      invalidKeyPerMinute: 20,
      invalidKeyBlockMs: 60_000,
      usageDays: 30,
    });
  });
});
