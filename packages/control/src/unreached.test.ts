import { describe, expect, it } from '@jest/globals';
import { applyLimits } from './plans/apply-limits.ts';
import { unreached } from './unreached.ts';

const failing = (error: unknown) => {
  const fail = () => Promise.reject(error);
  const limiter = { refreshOrgs: fail, revokeKey: fail, forgetOrg: fail, month: fail };
  return applyLimits({ limiter }, ['org_1'], null);
};
const said = async (error: unknown) => {
  const result = await failing(error);
  return result.ok ? '' : result.refusal.message;
};

describe('a call that failed', () => {
  it('because the program proved no service is not told as one that did not arrive', async () => {
    const details = 'the call has no service token: set SERVICE_TOKEN';
    expect(await said(Object.assign(new Error(), { code: 16, details }))).toContain(
      `the limiter does not accept calls of this program (${details}).`,
    );
    expect(unreached('runner', { code: 7, details: 'no' })).toContain('does not accept');
  });

  it('for another reason is told as one that did not arrive', async () => {
    expect(await said(Object.assign(new Error(), { code: 14 }))).toContain(
      'the limiter could not be reached.',
    );
    for (const error of [new Error('x'), null]) expect(unreached('runner', error)).toContain('be reached');
  });
});
