import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { RunnerClient } from '@tidegate/rpc';
import { Activity } from './activity.ts';
import { Catalog } from './catalog.ts';
import { CatalogWatch } from './watch.ts';

const REPORT_MS = 1_000;

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** A watch over a working stream. Each recorded report lists the models in use. */
function start() {
  const activity = new Activity();
  const reports: string[] = [];
  const stream = Object.assign(new EventEmitter(), {
    write: (report: { activity: { modelId: string; inFlight: number }[] }) =>
      reports.push(report.activity.map(({ modelId, inFlight }) => `${modelId} ${inFlight}`).join()),
    cancel: () => {},
  });
  const watch = new CatalogWatch({
    pool: 'local',
    client: { watch: () => stream } as unknown as RunnerClient,
    catalog: new Catalog(),
    activity,
    instanceId: 'ins_1',
    reportMs: REPORT_MS,
    reconnectMs: 250,
    log: { info: () => {}, warn: () => {} },
  });
  watch.start();
  return { watch, activity, reports, stream };
}

describe('a gateway reports its activity', () => {
  it('within a second, every second while requests run, and once more when they are done', () => {
    const { activity, reports } = start();
    activity.enter('m1');
    jest.advanceTimersByTime(2 * REPORT_MS);
    activity.leave('m1');
    jest.advanceTimersByTime(10 * REPORT_MS);
    expect(reports).toEqual(['', 'm1 1', 'm1 1', '']);
    activity.enter('m2');
    activity.leave('m2');
    jest.advanceTimersByTime(10 * REPORT_MS);
    expect(reports.slice(4)).toEqual(['m2 0', '']);
  });

  it('never while it is idle, so nothing wakes the process', () => {
    const { reports } = start();
    expect(reports).toEqual(['']);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('as soon as the catalog changes, with the revision that is applied', () => {
    const { reports, stream } = start();
    stream.emit('data', { revision: 7, snapshot: true, models: [], removedModelIds: [] });
    expect(reports).toHaveLength(2);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('no more once it is stopped', () => {
    const { watch, activity } = start();
    watch.stop();
    activity.enter('m1');
    expect(jest.getTimerCount()).toBe(0);
  });
});
