'use client';

import type { CreatedKey, KeyView } from '@tidegate/control';
import { useState } from 'react';
import { CreatedKeyDialog } from './created-key.tsx';
import { KeySettingsDialog } from './key-settings.tsx';
import type { ChosenFrom } from './model-choice.tsx';
import type { KeyRules } from './rules.ts';

interface CreateKeyProps {
  readonly org: string;
  readonly models: readonly ChosenFrom[];
  readonly rules: KeyRules;
  readonly today: string;
  readonly apiUrl: string;
  readonly onClose: () => void;
  /** A key whose settings are filled in. Its name is not, because names tell keys apart. */
  readonly like?: KeyView;
  /** Gets the key's value, too. */
  readonly onCreated?: (key: CreatedKey) => void;
}

/** Asks for the settings, then shows the key's value once. */
export function CreateKey(props: CreateKeyProps) {
  const [created, setCreated] = useState<CreatedKey | null>(null);
  const onCreated = (key: CreatedKey) => {
    setCreated(key);
    props.onCreated?.(key);
  };
  if (created) return <CreatedKeyDialog {...props} created={created} />;
  return <KeySettingsDialog {...props} onCreated={onCreated} />;
}
