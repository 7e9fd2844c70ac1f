import { describe, expect, it } from '@jest/globals';
import type { AdmissionRef } from './calls.ts';
import { Grants } from './grants.ts';

const REMEMBER_MS = 30_000;
const HOUR_MS = 3_600_000;

/** Grants, and the time that the test decides. */
function start(maxSettled = 10) {
  const clock = { nowMs: 1 };
  const grants = new Grants({ maxSettled, nowMs: () => clock.nowMs });
  const hold = (admissionId: string, instanceId = 'ins_1'): AdmissionRef => {
    const ref: AdmissionRef = { orgId: 'org_1', instanceId, admissionId, grant: null };
    const { grant: _, ...ids } = ref;
    const what = { keyId: 'key_1', modelId: 'mdl_1', contextTokens: 1 };
    grants.admitted(ref, { ...ids, ...what, hasImages: false, streamed: false, reserve: true }, 1);
    return ref;
  };
  const settle = (ref: AdmissionRef) => grants.settled(ref, { admissionId: ref.admissionId });
  const lost = () => [...grants.lost()].map(({ restore }) => restore.restore?.admissionId);
  return { clock, grants, hold, settle, lost };
}

describe('a settlement', () => {
  it('is remembered until the limiter has acknowledged it, and 30 s longer', () => {
    const { clock, grants, hold, settle, lost } = start();
    const ref = hold('a');
    settle(ref);
    clock.nowMs += HOUR_MS;
    grants.confirmed();
    expect(lost()).toEqual(['a']);
    grants.acknowledged(ref);
    clock.nowMs += REMEMBER_MS - 1;
    grants.confirmed();
    expect(lost()).toEqual(['a']);
    clock.nowMs += 1;
    grants.confirmed();
    expect([lost(), grants.size]).toEqual([[], 0]);
  });

  it('that is not acknowledged does not keep later ones in memory, and they do not push it out', () => {
    const { clock, grants, hold, settle, lost } = start(2);
    settle(hold('never'));
    for (const id of ['a', 'b', 'c']) {
      const ref = hold(id);
      settle(ref);
      grants.acknowledged(ref);
    }
    expect(lost()).toEqual(['never', 'b', 'c']);
    clock.nowMs += REMEMBER_MS;
    grants.confirmed();
    expect([lost(), grants.size]).toEqual([['never'], 1]);
  });

  it('counts once, however often it is acknowledged, and not after its instance was forgotten', () => {
    const { grants, hold, settle, lost } = start();
    const [twice, late] = [hold('twice', 'ins_2'), hold('late')];
    for (const ref of [twice, late]) settle(ref);
    for (let i = 0; i < 2; i++) grants.acknowledged(twice);
    grants.forget('ins_1');
    grants.acknowledged(late);
    expect([lost(), grants.size]).toEqual([['twice'], 1]);
  });

  it('ends its grant once: what comes after it changes nothing', () => {
    const { grants, hold, settle } = start();
    const ref = hold('a');
    settle(ref);
    grants.withdrawn(ref);
    grants.reserved(ref, 5);
    expect([...grants.lost()].map(({ restore, isHeld }) => [restore.restore, isHeld()])).toMatchObject([
      [{ admissionId: 'a', reservedAtMs: 1, settle: { admissionId: 'a' } }, false],
    ]);
  });
});

it('an instance that was cut off leaves its open grants to the limiter, and not its settlements', () => {
  const { grants, hold, settle, lost } = start();
  hold('open');
  hold('of another', 'ins_2');
  const [settling, settled] = [hold('settling'), hold('settled')];
  for (const ref of [settling, settled]) settle(ref);
  grants.acknowledged(settled);
  grants.forgetOpen('ins_1');
  expect(lost()).toEqual(['of another', 'settling', 'settled']);
});
