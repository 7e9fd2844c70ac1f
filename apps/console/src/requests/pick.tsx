'use client';

import { useRef, useState } from 'react';
import { PlainSelect } from '../ui/plain-inputs.tsx';
import { listChoices } from './actions.ts';
import type { Choices, Named } from './choices.ts';

interface PickProps extends Choices {
  readonly label: string;
  readonly name: string;
  readonly value: string;
  /** The text of the choice that filters nothing. */
  readonly all: string;
  readonly org?: string;
}

/** Adds what is chosen if only the page knew its name. */
const withChosen = (fetched: readonly Named[], sent: readonly Named[], chosen: string): readonly Named[] => [
  ...fetched,
  ...sent.filter(({ id }) => id === chosen && fetched.every((one) => one.id !== id)),
];

/**
 * A choice in a plain form. Options that are too many for the page are fetched when it is first
 * used.
 */
export function Pick({ label, name, value, all, options, org = '', more }: PickProps) {
  const [fetched, setFetched] = useState<readonly Named[] | null>(null);
  const asked = useRef(false);
  const fetchOnce = () => {
    if (more === undefined || asked.current) return;
    asked.current = true;
    listChoices(org, more).then(setFetched, () => {
      asked.current = false;
    });
  };
  const shown = fetched === null ? options : withChosen(fetched, options, value);
  const isKnown = value === '' || shown.some(({ id }) => id === value);
  return (
    <PlainSelect
      label={label}
      width="max-sm:w-[calc(50%-0.375rem)] sm:w-52"
      name={name}
      defaultValue={value}
      onFocus={fetchOnce}
      onPointerEnter={fetchOnce}
    >
      <option value="">{all}</option>
      {shown.map(({ id, name: text }) => (
        <option key={id} value={id}>
          {text}
        </option>
      ))}
      {isKnown ? null : <option value={value}>{`Unknown or deleted: ${value}`}</option>}
    </PlainSelect>
  );
}
