import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ReportRefusals } from '@tidegate/rpc';
import { eventually } from '@tidegate/testing';
import { RefusalReports } from './refusal-reports.ts';

const HOUR_MS = 3_600_000;

let sent: ReportRefusals[];
let answers: () => Promise<boolean>;
let unrecorded: number;
let nowMs: number;
let reports: RefusalReports;

function start(maxWaiting: number, everyMs: number): void {
  reports = new RefusalReports({
    gatewayId: 'gw_a',
    send: (report) => {
      sent.push(report);
      return answers();
    },
    nowMs: () => nowMs,
    maxWaiting,
    everyMs,
    onUnrecorded: (refusals) => {
      unrecorded += refusals;
    },
  });
}
beforeEach(() => {
  [sent, unrecorded, nowMs] = [[], 0, 5 * HOUR_MS + 1];
  answers = async () => true;
  start(10_000, 1);
});
afterEach(() => reports.stop());

const refuse = (keyId: string, modelId: string | null = null) =>
  reports.count({
    orgId: 'org_a',
    keyId,
    modelId,
    code: 'rate_limit_exceeded',
    cause: 'key_requests_per_minute',
  });
const kinds = () => sent.map(({ sequence, counts = [] }) => [sequence, counts.length]);

describe('refusals', () => {
  it('of one kind in one hour are one count', async () => {
    for (let i = 0; i < 3; i++) refuse('key_a');
    refuse('key_a', 'mdl_a');
    nowMs += HOUR_MS;
    refuse('key_a');
    await eventually(() => sent.length > 0);
    const same = { orgId: 'org_a', keyId: 'key_a', modelId: '' };
    expect(sent[0]?.counts).toMatchObject([
      { ...same, cause: 'key_requests_per_minute', hourMs: 5 * HOUR_MS, refusals: 3 },
      { modelId: 'mdl_a', refusals: 1 },
      { ...same, hourMs: 6 * HOUR_MS, refusals: 1 },
    ]);
    await eventually(() => reports.unreported === 0);
  });

  it('of a flood take bounded memory and messages, and those that are left out are counted', async () => {
    reports.stop();
    start(2_500, 1_000_000);
    for (let i = 0; i < 3_000; i++) refuse(`key_${i}`);
    for (let i = 0; i < 50_000; i++) refuse('key_0');
    expect([reports.unreported, unrecorded]).toEqual([52_500, 500]);
    await reports.close(60_000);
    expect(kinds()).toEqual([
      [1, 1_000],
      [2, 1_000],
      [3, 500],
    ]);
  });
});

describe('a report', () => {
  it('is sent again unchanged under its number until it is written, and those after it wait', async () => {
    answers = async () => sent.length > 2;
    refuse('key_a');
    await eventually(() => sent.length > 0);
    refuse('key_b');
    await eventually(() => sent.length === 4);
    expect(kinds()).toEqual([1, 1, 1, 2].map((sequence) => [sequence, 1]));
    expect(new Set(sent.slice(0, 3)).size).toBe(1);
    expect(reports.unreported).toBe(0);
  });

  it('that no limiter writes is given up after an hour of attempts, and its refusals are counted as missing', async () => {
    answers = async () => false;
    for (let i = 0; i < 3; i++) refuse('key_a');
    await eventually(() => unrecorded === 3);
    expect(sent).toHaveLength(720);
    expect(reports.unreported).toBe(0);
  });

  it('under way at the end is awaited, what came after it is sent, and a silent limiter is not waited for', async () => {
    let answer = (_written: boolean): void => {};
    answers = () =>
      new Promise((resolve) => {
        answer = resolve;
      });
    refuse('key_a');
    await eventually(() => sent.length === 1);
    refuse('key_b');
    const closed = reports.close(60_000);
    answer(true);
    await eventually(() => sent.length === 2);
    answer(true);
    await closed;
    expect(reports.unreported).toBe(0);
    refuse('key_c');
    await reports.close(1);
    expect(reports.unreported).toBe(1);
  });
});
