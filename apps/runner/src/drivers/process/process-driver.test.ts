import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually, isPidAlive } from '@tidegate/testing';
import { FAST } from '../../testing/timings.ts';
import type { DriverReport } from '../driver.ts';
import { Ports } from './ports.ts';
import { ProcessDriver } from './process-driver.ts';
import { readRecord } from './state-file.ts';

let stateDir: string;
let leads: () => boolean;
let reports: DriverReport[];
let driver: ProcessDriver;
let create: () => ProcessDriver;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'tidegate-process-'));
  leads = () => true;
  reports = [];
  create = () =>
    new ProcessDriver({
      modelId: 'mdl_1',
      settings: {
        command: `echo >${join(stateDir, 'begun')}; exec sleep 1000`,
        healthPath: '/',
        startTimeoutS: 600,
      },
      access: { name: '', nameAssumed: true, key: '' },
      stateDir,
      ports: new Ports(stateDir, Math.random),
      host: '127.0.0.1',
      keepOutput: false,
      env: { PATH: '/usr/bin:/bin' },
      user: null,
      alwaysOn: false,
      timings: FAST.drivers,
      leads: () => leads(),
      nowMs: Date.now,
      monotonicMs: () => performance.now(),
      random: Math.random,
      report: (report) => reports.push(report),
      onProbeFailure: () => {},
    });
  driver = create();
});
afterEach(async () => {
  leads = () => true;
  await driver.halt();
  rmSync(stateDir, { recursive: true, force: true });
});

const hasBegun = () => existsSync(join(stateDir, 'begun'));

describe('a runner that stood still until another one led', () => {
  it('starts no process, although it led when it began to, and leaves the record to the other one', async () => {
    const records = () => readdirSync(stateDir).filter((name) => name.includes('.json'));
    const asked: string[][] = [];
    // The lead is lost at the last moment: the record is written, and is about to take effect.
    leads = () => {
      asked.push(records());
      return records().length === 0;
    };
    driver.launch(false);
    await eventually(() => asked.flat().length > 0);
    await driver.halt();
    expect([records(), reports, hasBegun()]).toEqual([[], [], false]);
  });

  it('ends no process, and does not mark it as ending', async () => {
    driver.launch(false);
    await eventually(hasBegun);
    const { pid } = readRecord(stateDir, 'mdl_1') ?? { pid: 0 };
    leads = () => false;
    await expect(driver.halt()).rejects.toThrow('another runner leads');
    expect([isPidAlive(pid), readRecord(stateDir, 'mdl_1')?.ending]).toEqual([true, false]);
  });
});

it('a model that moved away leaves no files, except those of its next run if it has moved back', async () => {
  const before = driver;
  before.launch(false);
  await eventually(hasBegun);
  driver = create();
  // Both end the same process.
  await Promise.all([before.halt(), driver.halt()]);
  driver.launch(false);
  await eventually(() => readRecord(stateDir, 'mdl_1'));
  const next = readRecord(stateDir, 'mdl_1');
  await before.forget();
  expect(readRecord(stateDir, 'mdl_1')).toEqual(next);
  await driver.halt();
  await driver.forget();
  expect(readdirSync(stateDir)).toEqual(['begun']);
  expect(isPidAlive(next?.pid ?? 0)).toBe(false);
});
