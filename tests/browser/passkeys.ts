import { describe, expect, it } from '@jest/globals';
import { totp } from '@tidegate/testing';
import type { Page } from 'playwright-core';
import { expectAccessibleInBoth, signIn } from '../support/browser.ts';
import { must, OPERATOR } from '../support/control.ts';
import { PASSWORD, type Site, TEST_TIMEOUT_MS } from './site.ts';

/** Gives a page's browser a device that creates and uses passkeys. */
async function plugIn(page: Page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  const add = async (transport: 'internal' | 'usb') => {
    const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport,
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    return authenticatorId;
  };
  const authenticatorId = await add('internal');
  const answer = (enabled: boolean) =>
    cdp.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled });
  return {
    /** Calls `action` while only another device answers. */
    withAnother: async (action: () => Promise<void>) => {
      await answer(false);
      const another = await add('usb');
      await action();
      await cdp.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId: another });
      await answer(true);
    },
    /** Sets whether the device recognizes its user. */
    recognize: (isUserVerified: boolean) =>
      cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified }),
  };
}

/** Makes the page's browser use a passkey without checking its user, if the device allows it. */
const INSIST_ON_NOTHING = `{
  const get = navigator.credentials.get.bind(navigator.credentials);
  navigator.credentials.get = ({ publicKey, ...more }) =>
    get({ ...more, publicKey: { ...publicKey, userVerification: 'discouraged' } });
}`;

async function signOut(page: Page, site: Site): Promise<void> {
  await page.goto(`${site.url()}/account`);
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.waitForURL('**/sign-in');
}

const pressPasskey = (page: Page) => page.getByRole('button', { name: 'Sign in with a passkey' }).click();

export function describePasskeys(site: Site): void {
  describe('a passkey', () => {
    it(
      'signs in alone, and from then on the password alone does not, until two-factor is off',
      async () => {
        const account = await site.person('member');
        const org = await site.organization('Of passkeys');
        const { email } = account;
        must(await site.control().addMember(OPERATOR, { org, email, role: 'owner' }));
        // This visitor's browser is new, so no later test has its device.
        const { page, errors } = await site.signedIn(account, { context: {} });
        const { page: other } = await site.visit();
        await signIn(other, site.url(), account);
        const device = await plugIn(page);
        await page.goto(`${site.url()}/account/two-factor`);
        await page.getByLabel('Password').fill(PASSWORD);
        await page.getByRole('button', { name: 'Continue' }).click();
        await device.recognize(false);
        await page.getByRole('button', { name: 'Create a passkey' }).click();
        await page.getByText('Your browser did not create a passkey.').waitFor();
        await expectAccessibleInBoth(page);
        await device.recognize(true);
        await site.pageKey(account, org);
        await page.getByRole('button', { name: 'Create a passkey' }).click();
        await page.waitForURL('**/account');
        expect(must(await site.control().listKeys(OPERATOR, { org }))).toEqual([]);
        const own = page.getByRole('list', { name: 'Passkeys' }).getByRole('listitem');
        expect(await own.count()).toBe(1);
        await expectAccessibleInBoth(page);
        await site.open(other, 'keys');
        await other.waitForURL('**/sign-in?**');

        await page.getByRole('button', { name: /^Remove the passkey of / }).click();
        await page.getByLabel('Your password').fill('not the password');
        await page.getByRole('button', { name: 'Remove', exact: true }).click();
        await page.getByText('This is not your password.').waitFor();
        await page.getByLabel('Your password').fill(PASSWORD);
        await page.getByRole('button', { name: 'Remove', exact: true }).click();
        await page.getByText('This is your only second step.').waitFor();
        await expectAccessibleInBoth(page);
        await page.getByRole('button', { name: 'Cancel' }).click();
        await page.getByRole('link', { name: 'Add an authenticator app' }).click();
        await page.getByRole('heading', { name: 'Add an authenticator app' }).waitFor();
        await page.getByLabel('Password').fill(PASSWORD);
        await page.getByRole('button', { name: 'Continue' }).click();
        const secret = ((await page.getByTestId('secret').textContent()) ?? '').replaceAll(' ', '');
        await expectAccessibleInBoth(page);
        await page.getByRole('textbox', { name: 'Code' }).fill(totp(`otpauth://totp/x?secret=${secret}`));
        await page.getByRole('button', { name: 'Add the app' }).click();
        await page.waitForURL('**/account');
        await page.getByRole('button', { name: 'New recovery codes' }).waitFor();
        expect(await page.getByRole('link', { name: 'Add an authenticator app' }).count()).toBe(0);
        await page.getByRole('button', { name: 'Add a passkey' }).click();
        await page.getByLabel('Your password').fill(PASSWORD);
        await page.getByRole('button', { name: 'Create a passkey' }).click();
        await page.getByText('This device already has a passkey for your account.').waitFor();
        await page.getByRole('button', { name: 'Cancel' }).click();
        await device.withAnother(async () => {
          await page.getByRole('button', { name: 'Add a passkey' }).click();
          await page.getByLabel('Your password').fill(PASSWORD);
          await page.getByRole('button', { name: 'Create a passkey' }).click();
          await own.nth(1).waitFor();
        });
        await own.nth(1).getByRole('button').click();
        await page.getByLabel('Your password').fill(PASSWORD);
        await page.getByRole('button', { name: 'Remove', exact: true }).click();
        await own.nth(1).waitFor({ state: 'detached' });

        await site.forgetAttempts();
        await signOut(page, site);
        await page.getByLabel('E-mail').fill(account.email);
        await page.getByLabel('Password').fill(PASSWORD);
        await page.getByRole('button', { name: 'Sign in', exact: true }).click();
        await page.getByRole('heading', { name: 'One more step' }).waitFor();
        await pressPasskey(page);
        await page.waitForURL('**/o/demo/keys');

        await signOut(page, site);
        await device.recognize(false);
        await pressPasskey(page);
        await page.getByText('No passkey was used.').waitFor();
        // A browser that does not insist on checking its user answers, and the console refuses the
        // answer.
        await page.evaluate(INSIST_ON_NOTHING);
        await pressPasskey(page);
        await page.getByText('This passkey is not in use here.').waitFor();
        await page.reload();
        await device.recognize(true);
        await pressPasskey(page);
        await page.waitForURL('**/o/demo/keys');

        await page.goto(`${site.url()}/account`);
        await page.getByRole('button', { name: 'Turn off' }).click();
        await page.getByLabel('Your password').fill(PASSWORD);
        await page.getByRole('button', { name: 'Turn off' }).last().click();
        await page.getByRole('link', { name: 'Set up' }).waitFor();
        await signOut(page, site);
        await pressPasskey(page);
        await page.getByText('This passkey is not in use here.').waitFor();
        expect(await site.trailOf(account)).toEqual([
          'account.signIn password',
          'account.signIn password',
          'account.addPasskey',
          'account.renewRecoveryCodes',
          'account.addApp',
          'account.addPasskey',
          'account.removePasskey',
          'account.signIn passkey',
          'account.signInFailed passkey',
          'account.signIn passkey',
          'account.disableTwoFactor',
        ]);
        expect(errors).toEqual([]);
      },
      TEST_TIMEOUT_MS,
    );
  });
}
