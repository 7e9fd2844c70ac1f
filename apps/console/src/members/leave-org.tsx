'use client';

import { Button } from '@heroui/react';
import { useState } from 'react';
import { Confirm, useLeadsTo } from '../ui/dialogs.tsx';
import { Panel } from '../ui/page.tsx';
import { leave } from './actions.ts';

interface LeaveOrgProps {
  readonly org: string;
  /** Set on a page that is not the organization's own. */
  readonly name?: string;
  /** Absent: not known. Then the dialog shows the refusal. */
  readonly isOnlyOwner?: boolean;
}

export function LeaveOrg({ org, name = 'organization', isOnlyOwner: cannot = false }: LeaveOrgProps) {
  const [asked, setAsked] = useState(false);
  return (
    <Panel
      title={`Leave ${name}`}
      lead={
        cannot
          ? 'It would be left without an owner. Make someone else an owner first, or delete it on the Plan screen.'
          : 'Your account stays. Keys stay, too: they belong to the organization.'
      }
    >
      {cannot ? null : (
        <div className="px-5 pb-5">
          <Button variant="danger-soft" onPress={() => setAsked(true)}>
            Leave organization
          </Button>
        </div>
      )}
      <Confirm
        isOpen={asked}
        onClose={() => setAsked(false)}
        title={`Leave ${name}?`}
        confirm="Leave"
        action={() => leave(org)}
        {...useLeadsTo('/')}
      >
        <p>You lose access to it immediately. To come back, you need a new invitation.</p>
      </Confirm>
    </Panel>
  );
}
