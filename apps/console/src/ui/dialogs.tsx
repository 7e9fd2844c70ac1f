'use client';

import { AlertDialog, Button, Modal, toast } from '@heroui/react';
import type { Result } from '@tidegate/control';
import { useRouter } from 'next/navigation';
import { type ComponentProps, type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { useAct } from './act.ts';
import { useFocusReturn } from './focus.ts';
import { Form } from './form.tsx';
import { Note } from './page.tsx';

interface DialogProps {
  readonly onClose: () => void;
  readonly title: string;
  readonly children: ReactNode;
  readonly size?: 'md' | 'lg';
  /** Only the dialog's own buttons close it. */
  readonly mustAnswer?: boolean;
}

/**
 * A click outside the dialog closes it, unless something was typed or ticked in it. Escape closes
 * it even then.
 */
function Dialog({ onClose, title, children, size = 'md', mustAnswer = false }: DialogProps) {
  const [isUsed, setUsed] = useState(false);
  useFocusReturn(true);
  return (
    <Modal.Backdrop
      isOpen
      onOpenChange={(open) => open || onClose()}
      isDismissable={!mustAnswer && !isUsed}
      isKeyboardDismissDisabled={mustAnswer}
    >
      <Modal.Container size={size} scroll="inside">
        <Modal.Dialog>
          {mustAnswer ? null : <Modal.CloseTrigger aria-label="Close" />}
          <Modal.Header className="mb-4">
            <Modal.Heading className="wrap-anywhere">{title}</Modal.Heading>
          </Modal.Header>
          <div className="contents" onInput={() => setUsed(true)}>
            {children}
          </div>
        </Modal.Dialog>
      </Modal.Container>
    </Modal.Backdrop>
  );
}

/** Longer than a double click takes, including the answer to its first click. */
const DOUBLE_CLICK_MS = 800;

interface OnceDialogProps extends Pick<DialogProps, 'onClose' | 'title' | 'children' | 'size'> {
  /** For the button that closes it. */
  readonly close: string;
}

/**
 * Shows something only once. Only its button closes it, and only after a moment: it appears where
 * the button was that led here, which may have been pressed twice.
 */
export function OnceDialog({ close, onClose, children, ...props }: OnceDialogProps) {
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSeen(true), DOUBLE_CLICK_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <Dialog onClose={onClose} mustAnswer {...props}>
      {children}
      <Modal.Footer>
        <Button onPress={onClose} isDisabled={!isSeen}>
          {close}
        </Button>
      </Modal.Footer>
    </Dialog>
  );
}

interface FormDialogProps
  extends Pick<DialogProps, 'onClose' | 'title' | 'children'>,
    Pick<ComponentProps<typeof Form>, 'onSubmit' | 'refusal' | 'fields'> {
  /** Whether the form is being sent. */
  readonly pending: boolean;
  /** For the button that sends it. */
  readonly submit: string;
}

/** A dialog with a form. Nothing closes it while the form is being sent. */
export const FormDialog = ({ onClose, title, pending, submit, children, ...form }: FormDialogProps) => (
  <Dialog onClose={onClose} title={title} mustAnswer={pending}>
    <Form className="contents" {...form}>
      {children}
      <Modal.Footer>
        <Button variant="tertiary" onPress={onClose} isDisabled={pending}>
          Cancel
        </Button>
        <Button type="submit" isPending={pending}>
          {submit}
        </Button>
      </Modal.Footer>
    </Form>
  </Dialog>
);

interface ConfirmProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly title: string;
  /** What will happen if the user confirms. */
  readonly children: ReactNode;
  readonly confirm: string;
  readonly danger?: boolean;
  /** Names of its fields. What is wrong with anything else appears above them. */
  readonly fields?: readonly string[];
  readonly action: () => Promise<Result<unknown>>;
  /** Called when it is done and in force. */
  readonly onDone?: () => void;
  /** Called when it is done but not in force yet. Absent: the dialog says so. */
  readonly onNotInForce?: (why: string) => void;
}

/**
 * Asks before an action runs. Nothing closes it while the action runs: one dialog may serve many
 * rows, and what came of the action would appear in that of another row. If the action is refused,
 * the dialog stays open and shows why. If it is done but not in force yet, the dialog says so and
 * has nothing left to confirm.
 */
export function Confirm(props: ConfirmProps) {
  const { isOpen, onClose, title, children, confirm, danger = true, fields = [] } = props;
  const { act, pending, refusal, clear } = useAct();
  const [notInForce, setNotInForce] = useState<string | null>(null);
  useFocusReturn(isOpen);
  // Keeps the question readable while the dialog fades out.
  const asked = useRef({ title, children, notInForce });
  if (isOpen) asked.current = { title, children, notInForce };
  const close = () => {
    clear();
    setNotInForce(null);
    onClose();
  };
  const run = async (event: FormEvent) => {
    event.preventDefault();
    if (pending) return;
    const done = await act(() => outcomeOf(props.action));
    if (done === undefined) return;
    if (done.notInForce !== undefined && !props.onNotInForce) return setNotInForce(done.notInForce);
    close();
    if (done.notInForce === undefined) props.onDone?.();
    else props.onNotInForce?.(done.notInForce);
  };
  const isOver = asked.current.notInForce !== null;
  return (
    <AlertDialog.Backdrop
      isOpen={isOpen}
      onOpenChange={(open) => open || close()}
      isKeyboardDismissDisabled={pending}
    >
      <AlertDialog.Container size="md">
        <AlertDialog.Dialog>
          <AlertDialog.Header className="has-[+form>[role=alert]]:mb-3">
            <AlertDialog.Icon status={isOver ? 'warning' : danger ? 'danger' : 'accent'} />
            <AlertDialog.Heading className="wrap-anywhere">{asked.current.title}</AlertDialog.Heading>
          </AlertDialog.Header>
          <Form onSubmit={run} className="contents" refusal={refusal} fields={fields}>
            <AlertDialog.Body>
              {isOver ? (
                <Note kind="warning" className="mt-3">
                  <p role="status">{asked.current.notInForce}</p>
                </Note>
              ) : (
                <div className="space-y-3 text-sm leading-6 text-muted">{asked.current.children}</div>
              )}
            </AlertDialog.Body>
            <AlertDialog.Footer className="flex-wrap">
              <Button
                key={isOver ? 'close' : 'cancel'}
                variant={isOver ? 'secondary' : 'tertiary'}
                onPress={close}
                isDisabled={pending}
                autoFocus={isOver}
              >
                {isOver ? 'Close' : 'Cancel'}
              </Button>
              {isOver ? null : (
                <Button type="submit" variant={danger ? 'danger' : 'primary'} isPending={pending}>
                  {confirm}
                </Button>
              )}
            </AlertDialog.Footer>
          </Form>
        </AlertDialog.Dialog>
      </AlertDialog.Container>
    </AlertDialog.Backdrop>
  );
}

/**
 * For a `Confirm` after which nothing is left to show here: leads to another page. A toast does not
 * outlive the load of a page, so with a warning the page is not loaded.
 */
export function useLeadsTo(path: string): Required<Pick<ConfirmProps, 'onDone' | 'onNotInForce'>> {
  const router = useRouter();
  return {
    onDone: () => window.location.assign(path),
    onNotInForce: (why) => {
      toast.warning(why, { timeout: 0 });
      router.push(path);
    },
  };
}

/** Turns the action's result into a value that says whether it is in force. */
async function outcomeOf(action: ConfirmProps['action']): Promise<Result<{ notInForce?: string }>> {
  const result = await action();
  if (!result.ok) return result;
  const { notInForce } = result;
  return { ok: true, value: notInForce === undefined ? {} : { notInForce } };
}
