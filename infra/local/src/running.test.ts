import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { filesOf } from './files.ts';
import type { StackInfo } from './info.ts';
import { Members } from './running.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidegate-running-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('records that cannot be written', () => {
  it('stop a start, but not a stack that runs', () => {
    const recovered: string[] = [];
    const members = new Members(filesOf(folder), { recovered: (name) => recovered.push(name) });
    members.publishAs(() => ({}) as StackInfo);
    rmSync(folder, { recursive: true });
    members.events.spawned();
    members.events.ready('gateway');
    expect(recovered).toEqual(['gateway']);

    const starting = new Members(filesOf(folder), {});
    expect(() => starting.events.spawned()).toThrow('ENOENT');
  });
});
