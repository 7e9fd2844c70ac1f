'use client';

import { Button } from '@heroui/react';
import type { Result } from '@tidegate/control';
import { type ReactNode, useState } from 'react';
import { Confirm, useLeadsTo } from './dialogs.tsx';
import { Field } from './field.tsx';
import { Panel } from './page.tsx';

interface TypedConfirmProps {
  /** For the panel, and for the buttons that open and confirm. */
  readonly title: string;
  readonly lead: ReactNode;
  /** What will happen if the user confirms. */
  readonly children: ReactNode;
  /** What the user types to confirm, for example: the organization's name. */
  readonly what: string;
  /** The name by which a refusal finds the field. */
  readonly name: string;
  readonly action: (typed: string) => Promise<Result<unknown>>;
  /** Where the browser goes afterwards. */
  readonly leadsTo: string;
}

/** A panel with something that cannot be undone, and so is confirmed by typing. */
export function TypedConfirm(props: TypedConfirmProps) {
  const { title, lead, children, what, name, action, leadsTo } = props;
  const [isOpen, setOpen] = useState(false);
  const [typed, setTyped] = useState('');
  return (
    <Panel title={title} lead={lead}>
      <div className="px-5 pb-5">
        <Button variant="danger-soft" onPress={() => setOpen(true)}>
          {title}
        </Button>
      </div>
      <Confirm
        isOpen={isOpen}
        onClose={() => {
          setOpen(false);
          setTyped('');
        }}
        title={`${title}?`}
        confirm={`${title} for good`}
        action={() => action(typed)}
        fields={[name]}
        {...useLeadsTo(leadsTo)}
      >
        {children}
        <Field
          label={`Type ${what} to confirm`}
          name={name}
          value={typed}
          onChange={setTyped}
          autoComplete="off"
          autoFocus
        />
      </Confirm>
    </Panel>
  );
}
