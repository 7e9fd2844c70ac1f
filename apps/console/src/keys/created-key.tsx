'use client';

import { Input, Label, Modal } from '@heroui/react';
import type { CreatedKey } from '@tidegate/control';
import { firstUsable } from '../models/first-usable.ts';
import { NoUsable } from '../models/no-usable.tsx';
import { quickStarts } from '../models/quick-starts.ts';
import { CopyButton, Snippets } from '../ui/code.tsx';
import { OnceDialog } from '../ui/dialogs.tsx';
import { Note } from '../ui/page.tsx';
import type { ChosenFrom } from './model-choice.tsx';

interface CreatedKeyDialogProps {
  readonly org: string;
  readonly created: CreatedKey;
  readonly models: readonly ChosenFrom[];
  readonly apiUrl: string;
  readonly onClose: () => void;
}

/** Shows a new key's value, only once. */
export function CreatedKeyDialog({ org, created, models, apiUrl, onClose }: CreatedKeyDialogProps) {
  const { all, models: chosen } = created.mayCall;
  const callable = all ? models : models.filter(({ name }) => chosen.includes(name));
  const example = firstUsable(callable);
  return (
    <OnceDialog
      onClose={onClose}
      title={`“${created.name}” is ready`}
      size="lg"
      close="I have copied the key"
    >
      <Modal.Body className="space-y-5">
        <Note kind="warning">
          Copy the key now: it is shown only once and is not stored. If you lose it, revoke it and create
          another.
        </Note>
        <div>
          <Label htmlFor="new-key">API key</Label>
          <div className="mt-1.5 flex items-center gap-2">
            <Input
              id="new-key"
              readOnly
              fullWidth
              value={created.key}
              className="font-mono text-xs"
              onFocus={(event) => event.target.select()}
            />
            <CopyButton text={created.key} label="Copy the key" />
          </div>
        </div>
        {example ? null : (
          <NoUsable
            count={callable.length}
            which={all ? 'all' : 'all that this key may call'}
            mayChange
            href={`/o/${org}/api`}
            where="on the API screen"
            newTab
          />
        )}
        <Snippets
          label="First request"
          snippets={quickStarts({ apiUrl, key: created.key, model: example?.name ?? 'MODEL' })}
        />
      </Modal.Body>
    </OnceDialog>
  );
}
