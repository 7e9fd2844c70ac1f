import { describe, expect, it } from '@jest/globals';
import type { AdmissionHandle } from './calls.ts';
import { Grants } from './grants.ts';

const REMEMBER_MS = 30_000;
const HOUR_MS = 3_600_000;

/** Grants, with a clock that the test sets. */
function start(maxSettled = 10) {
  const clock = { nowMs: 1 };
  const grants = new Grants({ maxSettled, nowMs: () => clock.nowMs });
  const hold = (admissionId: string, instanceId = 'ins_1'): AdmissionHandle => {
    const handle: AdmissionHandle = { orgId: 'org_1', instanceId, admissionId, grant: null };
    const { grant: _, ...ids } = handle;
    const what = { keyId: 'key_1', modelId: 'mdl_1', contextTokens: 1 };
    grants.admitted(handle, { ...ids, ...what, hasImages: false, streamed: false, reserve: true }, 1);
    return handle;
  };
  const settle = (handle: AdmissionHandle) => grants.settled(handle, { admissionId: handle.admissionId });
  const lost = () => [...grants.toRestore()].map(({ restore }) => restore.restore?.admissionId);
  return { clock, grants, hold, settle, lost };
}

describe('a settlement', () => {
  it('is remembered until the limiter has acknowledged it, and 30 s longer', () => {
    const { clock, grants, hold, settle, lost } = start();
    const handle = hold('a');
    settle(handle);
    clock.nowMs += HOUR_MS;
    grants.stateIntact();
    expect(lost()).toEqual(['a']);
    grants.acknowledged(handle);
    clock.nowMs += REMEMBER_MS - 1;
    grants.stateIntact();
    expect(lost()).toEqual(['a']);
    clock.nowMs += 1;
    grants.stateIntact();
    expect([lost(), grants.size]).toEqual([[], 0]);
  });

  it('that is not acknowledged does not keep later ones in memory, and they do not push it out', () => {
    const { clock, grants, hold, settle, lost } = start(2);
    settle(hold('never'));
    for (const id of ['a', 'b', 'c']) {
      const handle = hold(id);
      settle(handle);
      grants.acknowledged(handle);
    }
    expect(lost()).toEqual(['never', 'b', 'c']);
    clock.nowMs += REMEMBER_MS;
    grants.stateIntact();
    expect([lost(), grants.size]).toEqual([['never'], 1]);
  });

  it('counts once, however often it is acknowledged, and not after its instance was forgotten', () => {
    const { grants, hold, settle, lost } = start();
    const [twice, late] = [hold('twice', 'ins_2'), hold('late')];
    for (const handle of [twice, late]) settle(handle);
    for (let i = 0; i < 2; i++) grants.acknowledged(twice);
    grants.forget('ins_1');
    grants.acknowledged(late);
    expect([lost(), grants.size]).toEqual([['twice'], 1]);
  });

  it('ends its grant once: what comes after it changes nothing', () => {
    const { grants, hold, settle } = start();
    const handle = hold('a');
    settle(handle);
    grants.withdrawn(handle);
    grants.reserved(handle, 5);
    expect([...grants.toRestore()].map(({ restore, isHeld }) => [restore.restore, isHeld()])).toMatchObject([
      [{ admissionId: 'a', reservedAtMs: 1, settle: { admissionId: 'a' } }, false],
    ]);
  });
});

it('an instance that was cut off leaves its open grants to the limiter, but not its settlements', () => {
  const { grants, hold, settle, lost } = start();
  hold('open');
  hold('of another', 'ins_2');
  const [settling, settled] = [hold('settling'), hold('settled')];
  for (const handle of [settling, settled]) settle(handle);
  grants.acknowledged(settled);
  grants.dropHeld('ins_1');
  expect(lost()).toEqual(['of another', 'settling', 'settled']);
});
