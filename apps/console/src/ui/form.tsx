'use client';

import { Form as FormRoot } from '@heroui/react';
import type { ControlRefusal, Fault } from '@tidegate/control';
import {
  type ComponentProps,
  createContext,
  type FormEvent,
  useContext,
  useEffect,
  useRef,
  useState,
} from 'react';
import { Note } from './page.tsx';
import { unreadable } from './unreadable.ts';

type Errors = Readonly<Record<string, string>>;

const ErrorsContext = createContext<Errors>({});

/** The error of the field with this name in the surrounding form. */
export const useFieldError = (name = ''): string | undefined => useContext(ErrorsContext)[name];

interface FormProps extends Omit<ComponentProps<typeof FormRoot>, 'onSubmit'> {
  /** Resolves when it is done. Until the page shows the result, the form is not sent again. */
  readonly onSubmit?: (event: FormEvent<HTMLFormElement>) => Promise<void>;
  /** The refusal of the last attempt. */
  readonly refusal: ControlRefusal | null;
  /** Names of the form's fields. Errors about anything else appear above them. */
  readonly fields: readonly string[];
}

/**
 * Shows all errors at once, each at its field, and focuses the first of these fields. Keeps what
 * the user typed. The browser validates nothing, because it would keep refusing a field that was
 * invalid once. But a date or a number that it cannot read would count as empty, so the form is
 * then not sent. Nor is it sent twice at once: Enter in a field would do that, even though the
 * button is waiting.
 */
export function Form({ refusal, fields, children, onSubmit, ...props }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  const [halfTyped, setHalfTyped] = useState<readonly Fault[]>([]);
  const faults = halfTyped.length > 0 ? halfTyped : refusal ? [refusal, ...(refusal.others ?? [])] : [];
  const errors: Record<string, string> = {};
  const elsewhere: string[] = [];
  for (const { field = '', message } of faults) {
    if (fields.includes(field)) errors[field] = message;
    else elsewhere.push(message);
  }
  const sending = useRef(false);
  const [sent, setSent] = useState(0);
  // Only once the page shows the result.
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs each time something was sent
  useEffect(() => {
    sending.current = false;
  }, [sent]);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    if (sending.current) return event.preventDefault();
    const found = unreadable(event.currentTarget.elements);
    setHalfTyped(found);
    if (found.length > 0) return event.preventDefault();
    if (!onSubmit) return;
    sending.current = true;
    await onSubmit(event).finally(() => setSent((times) => times + 1));
  };
  useEffect(() => {
    if (refusal || halfTyped.length > 0)
      form.current?.querySelector<HTMLElement>('[data-invalid] :is(input, textarea, button)')?.focus();
  }, [refusal, halfTyped]);
  // After an action the framework resets the form. The capturing listener prevents that before the
  // form's fields learn of it.
  useEffect(() => {
    const { current } = form;
    const keep = (event: Event) => event.preventDefault();
    current?.addEventListener('reset', keep, { capture: true });
    return () => current?.removeEventListener('reset', keep, { capture: true });
  }, []);
  return (
    <FormRoot ref={form} validationBehavior="aria" onSubmit={submit} {...props}>
      {elsewhere.length > 0 ? (
        <Note kind="danger" className="mb-4">
          {elsewhere.join(' ')}
        </Note>
      ) : null}
      <ErrorsContext value={errors}>{children}</ErrorsContext>
    </FormRoot>
  );
}
