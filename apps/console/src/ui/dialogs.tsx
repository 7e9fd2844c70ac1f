'use client';

import { AlertDialog, Button, Modal } from '@heroui/react';
import type { Result } from '@tidegate/control';
import { type ReactNode, useRef } from 'react';
import { useAct } from './act.ts';
import { useFocusReturn } from './focus.ts';
import { Note } from './page.tsx';

interface DialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly title: string;
  readonly children: ReactNode;
  readonly size?: 'md' | 'lg';
  /** Only the dialog's own buttons close it. For dialogs that show something only once. */
  readonly mustAnswer?: boolean;
}

export function Dialog({ isOpen, onClose, title, children, size = 'md', mustAnswer = false }: DialogProps) {
  useFocusReturn(isOpen);
  return (
    <Modal.Backdrop
      isOpen={isOpen}
      onOpenChange={(open) => open || onClose()}
      isDismissable={!mustAnswer}
      isKeyboardDismissDisabled={mustAnswer}
    >
      <Modal.Container size={size} scroll="inside">
        <Modal.Dialog>
          {mustAnswer ? null : <Modal.CloseTrigger aria-label="Close" />}
          <Modal.Header className="mb-4">
            <Modal.Heading className="wrap-anywhere">{title}</Modal.Heading>
          </Modal.Header>
          {children}
        </Modal.Dialog>
      </Modal.Container>
    </Modal.Backdrop>
  );
}

interface ConfirmProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly title: string;
  /** What will happen if the user confirms. */
  readonly children: ReactNode;
  readonly confirm: string;
  readonly danger?: boolean;
  readonly action: () => Promise<Result<unknown>>;
  readonly onDone?: () => void;
}

/** Asks before an action runs. If the action is refused, it stays open and shows why. */
export function Confirm({
  isOpen,
  onClose,
  title,
  children,
  confirm,
  danger = true,
  action,
  onDone,
}: ConfirmProps) {
  const { act, pending, refusal, clear } = useAct();
  useFocusReturn(isOpen);
  // Keeps the question readable while the dialog fades out.
  const asked = useRef({ title, children });
  if (isOpen) asked.current = { title, children };
  const close = () => {
    clear();
    onClose();
  };
  const run = async () => {
    if ((await act(action)) === undefined) return;
    close();
    onDone?.();
  };
  return (
    <AlertDialog.Backdrop
      isOpen={isOpen}
      onOpenChange={(open) => open || close()}
      isKeyboardDismissDisabled={false}
    >
      <AlertDialog.Container size="md">
        <AlertDialog.Dialog>
          <AlertDialog.Header>
            <AlertDialog.Icon status={danger ? 'danger' : 'accent'} />
            <AlertDialog.Heading className="wrap-anywhere">{asked.current.title}</AlertDialog.Heading>
          </AlertDialog.Header>
          <AlertDialog.Body>
            <div className="space-y-3 text-sm leading-6 text-muted">{asked.current.children}</div>
            {refusal ? (
              <Note kind="danger" className="mt-4">
                {refusal.message}
              </Note>
            ) : null}
          </AlertDialog.Body>
          <AlertDialog.Footer>
            <Button variant="tertiary" onPress={close} isDisabled={pending}>
              Cancel
            </Button>
            <Button variant={danger ? 'danger' : 'primary'} onPress={run} isPending={pending}>
              {confirm}
            </Button>
          </AlertDialog.Footer>
        </AlertDialog.Dialog>
      </AlertDialog.Container>
    </AlertDialog.Backdrop>
  );
}
