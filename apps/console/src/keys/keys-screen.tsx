'use client';

import { Button } from '@heroui/react';
import { useState } from 'react';
import { Note, PageHeader } from '../ui/page.tsx';
import { CreateKey } from './create-key.tsx';
import { fullness, type KeyCount } from './fullness.ts';
import { KeysList } from './keys-list.tsx';
import type { ChosenFrom } from './model-choice.tsx';
import type { KeyTableRow } from './rows.ts';
import type { KeyRules } from './rules.ts';

interface KeysScreenProps {
  readonly org: string;
  readonly plan: string;
  readonly mayChange: boolean;
  /** The newest, or all. */
  readonly keys: readonly KeyTableRow[];
  /** How many are in the list. */
  readonly total: number;
  readonly count: Pick<KeyCount, 'valid' | 'total'>;
  readonly models: readonly ChosenFrom[];
  readonly rules: KeyRules;
  readonly today: string;
  readonly apiUrl: string;
}

export function KeysScreen(props: KeysScreenProps) {
  const { org, plan, mayChange, keys, total, count, models, rules, today, apiUrl } = props;
  const [creating, setCreating] = useState(false);
  const full = fullness({ ...count, plan }, rules);
  return (
    <>
      <PageHeader
        title="Keys"
        lead="Every request to the API carries a key. Keep keys on servers, never in web pages or shipped applications."
        actions={
          mayChange ? (
            <Button onPress={() => setCreating(true)} isDisabled={full.blocked}>
              <span className="icon-plus size-4" aria-hidden />
              Create key
            </Button>
          ) : null
        }
      />
      {full.message && mayChange ? (
        <Note kind="warning" className="mb-5">
          {full.message}
        </Note>
      ) : null}
      <KeysList
        org={org}
        mayChange={mayChange}
        keys={keys}
        total={total}
        count={`${count.valid} of ${rules.mostKeys} keys in use on ${plan}`}
      />
      {creating ? (
        <CreateKey
          org={org}
          models={models}
          rules={rules}
          today={today}
          apiUrl={apiUrl}
          onClose={() => setCreating(false)}
        />
      ) : null}
    </>
  );
}
