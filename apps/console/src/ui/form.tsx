'use client';

import { Form as FormRoot } from '@heroui/react';
import type { ControlRefusal } from '@tidegate/control';
import { type ComponentProps, createContext, useContext, useEffect, useRef } from 'react';
import { Note } from './page.tsx';

type Errors = Readonly<Record<string, string>>;

const ErrorsContext = createContext<Errors>({});

/** The error of the field with this name in the surrounding form. */
export const useFieldError = (name = ''): string | undefined => useContext(ErrorsContext)[name];

interface FormProps extends ComponentProps<typeof FormRoot> {
  /** The refusal of the last attempt. */
  readonly refusal: ControlRefusal | null;
  /** Names of the form's fields. Errors about anything else appear above them. */
  readonly fields: readonly string[];
}

/**
 * Shows all errors at once, each at its field, and focuses the first of these fields. Keeps what
 * the user typed. The browser validates nothing, because it would keep refusing a field that was
 * invalid once.
 */
export function Form({ refusal, fields, children, ...props }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  const faults = refusal ? [refusal, ...(refusal.others ?? [])] : [];
  const errors: Record<string, string> = {};
  const elsewhere: string[] = [];
  for (const { field = '', message } of faults) {
    if (fields.includes(field)) errors[field] = message;
    else elsewhere.push(message);
  }
  useEffect(() => {
    if (refusal)
      form.current?.querySelector<HTMLElement>('[data-invalid] :is(input, textarea, button)')?.focus();
  }, [refusal]);
  // After an action the framework resets the form. The capturing listener prevents that before the
  // form's fields learn of it.
  useEffect(() => {
    const { current } = form;
    const keep = (event: Event) => event.preventDefault();
    current?.addEventListener('reset', keep, { capture: true });
    return () => current?.removeEventListener('reset', keep, { capture: true });
  }, []);
  return (
    <FormRoot ref={form} validationBehavior="aria" {...props}>
      {elsewhere.length > 0 ? (
        <Note kind="danger" className="mb-4">
          {elsewhere.join(' ')}
        </Note>
      ) : null}
      <ErrorsContext value={errors}>{children}</ErrorsContext>
    </FormRoot>
  );
}
