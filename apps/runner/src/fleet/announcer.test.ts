import { expect, it } from '@jest/globals';
import type { CatalogEntry } from '../catalog/catalog.ts';
import type { PersistedCondition } from '../catalog/spec.ts';
import { Announcer } from './announcer.ts';

it('a start that waits for room is one start, however often its reason changes', () => {
  const written: PersistedCondition[] = [];
  let nowMs = 10;
  const announcer = new Announcer({
    catalog: { put: () => 1 } as never,
    writer: { write: (_modelId: string, condition: PersistedCondition) => written.push(condition) } as never,
    nowMs: () => nowMs++,
  });
  announcer.begin({ condition: 'asleep', reason: '', atMs: 1 });
  const entry = { modelId: 'mdl_1' } as CatalogEntry;
  announcer.announce(entry, { condition: 'starting', reason: '' });
  announcer.announce(entry, { condition: 'starting', reason: 'Waiting for room.' });
  announcer.announce(entry, { condition: 'starting', reason: '' });
  announcer.announce(entry, { condition: 'running', reason: '' });
  expect(written).toEqual([
    { condition: 'starting', reason: '', atMs: 10 },
    { condition: 'starting', reason: 'Waiting for room.', atMs: 10 },
    { condition: 'starting', reason: '', atMs: 10 },
    { condition: 'running', reason: '', atMs: 11 },
  ]);
});
