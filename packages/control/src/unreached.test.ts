import { describe, expect, it } from '@jest/globals';
import { OPERATOR } from './fixture.ts';
import { applyLimits } from './plans/apply-limits.ts';
import { unreached } from './unreached.ts';

const OWNER = { kind: 'user', userId: 'usr_1', email: 'ada@example.com' } as const;
const notAccepted = Object.assign(new Error(), {
  code: 16,
  details: 'the call has no service token: set SERVICE_TOKEN',
});

const said = async (error: unknown, actor: Parameters<typeof applyLimits>[1] = OPERATOR) => {
  const fail = () => Promise.reject(error);
  const limiter = { refreshOrgs: fail, revokeKey: fail, forgetOrg: fail, month: fail, findRequest: fail };
  const result = await applyLimits({ limiter }, actor, ['org_1'], null);
  return result.notInForce ?? '';
};

describe('a call that failed', () => {
  it('for lack of a service token is not reported as unreachable', async () => {
    expect(await said(notAccepted)).toContain(
      `the limiter does not accept calls from this program (${notAccepted.details}).`,
    );
    expect(unreached('runner', { code: 7, details: 'no' }, OPERATOR)).toContain('does not accept');
  });

  it('for another reason is reported as unreachable', async () => {
    expect(await said(Object.assign(new Error(), { code: 14 }))).toContain(
      'the limiter could not be reached.',
    );
    for (const error of [new Error('x'), null])
      expect(unreached('runner', error, OPERATOR)).toContain('be reached');
  });

  it('is reported to a user as not available right now, whatever the reason', async () => {
    for (const error of [notAccepted, new Error('x')]) {
      expect(await said(error, OWNER)).toContain('the limiter is not available right now.');
      expect(unreached('runner', error, OWNER)).toBe('the runner is not available right now');
    }
  });
});
