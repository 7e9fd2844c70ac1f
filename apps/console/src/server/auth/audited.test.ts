import { describe, expect, it } from '@jest/globals';
import type { AccountEvent } from '@tidegate/control';
import { auditedSignIn, type RecordAccount } from './audited.ts';
import type { SignIn, SignInOutcome } from './sign-in.ts';

const ATTEMPT = { email: 'a@example.com', password: 'p', address: '203.0.113.7', headers: new Headers() };
const FAILED = {
  action: 'account.signInFailed',
  account: { email: 'a@example.com' },
  address: '203.0.113.7',
  atMs: 17,
  details: { with: 'password' },
};

/** A sign-in that ends with `outcome`. */
function audited(outcome: SignInOutcome, record: RecordAccount, laterMs: number) {
  const signIn = { withPassword: async () => outcome } as unknown as SignIn;
  return auditedSignIn(signIn, record, { now: () => 17, laterMs });
}

describe('a failed attempt to sign in', () => {
  it('is answered before it is recorded, so that the answer takes no longer if the account exists', async () => {
    let recorded = (_event: AccountEvent) => {};
    const first = new Promise<AccountEvent>((resolve) => {
      recorded = resolve;
    });
    const never = (event: AccountEvent) => {
      recorded(event);
      return new Promise<void>(() => {});
    };
    const result = await audited({ outcome: 'wrong' }, never, 1).withPassword(ATTEMPT);
    expect(result).toEqual({ outcome: 'wrong' });
    expect(await first).toEqual(FAILED);
  });

  it('is recorded once, before the console ends', async () => {
    const events: AccountEvent[] = [];
    const record = async (event: AccountEvent) => void events.push(event);
    const signIn = audited({ outcome: 'wrong' }, record, 2 ** 30);
    await signIn.withPassword(ATTEMPT);
    expect(events).toEqual([]);
    await signIn.close();
    await signIn.close();
    expect(events).toEqual([FAILED]);
  });

  it('that was not checked is not recorded', async () => {
    const record = () => Promise.reject(new Error('recorded'));
    const signIn = audited({ outcome: 'too many', retryAfterS: 1 }, record, 2 ** 30);
    await signIn.withPassword(ATTEMPT);
    await signIn.close();
  });
});
