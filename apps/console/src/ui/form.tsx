'use client';

import { Form as FormRoot } from '@heroui/react';
import type { ControlRefusal } from '@tidegate/control';
import { type ComponentProps, createContext, useContext, useEffect, useRef } from 'react';
import { Note } from './page.tsx';

type Errors = Readonly<Record<string, string>>;

const ErrorsContext = createContext<Errors>({});

/** What was refused about the field of this name in the form around it. */
export const useFieldError = (name = ''): string | undefined => useContext(ErrorsContext)[name];

interface FormProps extends ComponentProps<typeof FormRoot> {
  /** Of the last try. */
  readonly refusal: ControlRefusal | null;
  /** Names of its fields. What is refused about anything else is said above them. */
  readonly fields: readonly string[];
}

/**
 * Says everything that was refused at once, each thing at its field, and goes to the first of these fields. What was typed
 * stays. The browser checks nothing itself: it would go on refusing a field that was invalid once.
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
  // After an action the framework would empty the form, of which its fields learn when the event has come down to it.
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
