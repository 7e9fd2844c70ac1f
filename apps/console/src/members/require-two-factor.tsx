'use client';

import { Button, toast } from '@heroui/react';
import { useState } from 'react';
import { Confirm } from '../ui/dialogs.tsx';
import { Panel } from '../ui/page.tsx';
import { requireTwoFactor } from './actions.ts';

interface RequireTwoFactorProps {
  readonly org: string;
  readonly isRequired: boolean;
  /** How many members have no second factor. */
  readonly lacking: number;
}

export function RequireTwoFactor({ org, isRequired, lacking }: RequireTwoFactorProps) {
  const [asking, setAsking] = useState(false);
  return (
    <Panel
      title="Two-factor"
      lead={
        isRequired
          ? 'Required. Members who sign in with a password need a second factor to open this organization.'
          : 'Not required. Each member decides.'
      }
    >
      <div className="px-5 pb-5">
        <Button variant={isRequired ? 'secondary' : 'primary'} onPress={() => setAsking(true)}>
          {isRequired ? 'Stop requiring two-factor' : 'Require two-factor'}
        </Button>
      </div>
      <Confirm
        isOpen={asking}
        onClose={() => setAsking(false)}
        title={isRequired ? 'Stop requiring two-factor?' : 'Require two-factor for all members?'}
        confirm={isRequired ? 'Stop requiring it' : 'Require it'}
        danger={isRequired}
        action={() => requireTwoFactor(org, !isRequired)}
        onDone={() =>
          toast.success(isRequired ? 'Two-factor is no longer required.' : 'Two-factor is required.')
        }
      >
        {isRequired ? (
          <p>Members can then turn theirs off and sign in with only a password.</p>
        ) : (
          <>
            <p>
              {lacking === 0
                ? 'All members have it, or sign in with the identity provider.'
                : `${lacking === 1 ? 'One member has' : `${lacking} members have`} not set it up yet, and must do so before any screen of this organization opens.`}
            </p>
            <p>API keys keep working, except those that Try it has created for them.</p>
          </>
        )}
      </Confirm>
    </Panel>
  );
}
