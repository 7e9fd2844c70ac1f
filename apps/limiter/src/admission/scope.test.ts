import { describe, expect, it } from '@jest/globals';
import { ScopeCache, UNKNOWN_SCOPE } from './scope.ts';

const scope = (keyId: string) => ({ keyId, month: '2026-11' });

describe('ScopeCache', () => {
  it('remembers the newest scope of an admission until it is dropped', () => {
    const scopes = new ScopeCache(2);
    scopes.put('a', scope('first'));
    scopes.put('b', scope('b'));
    scopes.put('a', scope('second'));
    expect(scopes.get('a')).toEqual(scope('second'));
    expect(scopes.get('b')).toEqual(scope('b'));
    scopes.drop('a');
    scopes.drop('b');
    expect(scopes.get('a')).toBe(UNKNOWN_SCOPE);
    expect(scopes.get('b')).toBe(UNKNOWN_SCOPE);
  });

  it('keeps one full generation, and never more than two', () => {
    const scopes = new ScopeCache(10);
    const ids = Array.from({ length: 95 }, (_, i) => `adm_${i}`);
    for (const id of ids) scopes.put(id, scope(id));
    const kept = ids.filter((id) => scopes.get(id) !== UNKNOWN_SCOPE);
    expect(kept).toEqual(ids.slice(-kept.length));
    expect(kept.length).toBeGreaterThanOrEqual(10);
    expect(kept.length).toBeLessThanOrEqual(20);
  });
});
