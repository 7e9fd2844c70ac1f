import { describe, expect, it } from '@jest/globals';
import { Gateways } from './gateways.ts';

const GRACE_MS = 15_000;

function gateways() {
  const clock = { ms: 0 };
  const all = new Gateways({ nowMs: () => clock.ms, absentGraceMs: GRACE_MS, onUse: () => {} });
  all.open();
  clock.ms = GRACE_MS;
  return { all, clock };
}

const report = (...activity: { modelId: string; inFlight: number }[]) => ({
  instanceId: 'ins_1',
  acknowledgedRevision: 1,
  activity,
});

describe('a model is unused', () => {
  it('only some time after gateways can reach the runner, however long its takeover takes', () => {
    const clock = { ms: 0 };
    const all = new Gateways({ nowMs: () => clock.ms, absentGraceMs: GRACE_MS, onUse: () => {} });
    clock.ms = 10 * GRACE_MS;
    expect(all.isUnused('m1')).toBe(false);
    all.open();
    clock.ms += GRACE_MS - 1;
    expect(all.isUnused('m1')).toBe(false);
    clock.ms += 1;
    expect(all.isUnused('m1')).toBe(true);
  });

  it('by a gateway whose last report says so, however old that report is', () => {
    const { all, clock } = gateways();
    const link = all.connect();
    link.report(report({ modelId: 'm1', inFlight: 1 }));
    clock.ms += 3_600_000;
    expect(all.isUnused('m1')).toBe(false);
    link.report(report());
    clock.ms += 3_600_000;
    expect(all.isUnused('m1')).toBe(true);
  });

  it('only some time after a gateway disconnected, unless the gateway returns before', () => {
    const { all, clock } = gateways();
    const old = all.connect();
    old.report(report());
    const back = all.connect();
    back.report(report());
    old.close();
    expect(all.isUnused('m1')).toBe(true);
    back.close();
    expect(all.isUnused('m1')).toBe(false);
    clock.ms += GRACE_MS;
    expect(all.isUnused('m1')).toBe(true);
  });
});
