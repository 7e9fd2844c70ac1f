'use client';

import { Button, TextArea } from '@heroui/react';
import { type KeyboardEvent, useState } from 'react';
import { AddImages, Attachments } from './attachments.tsx';
import { MAX_IMAGES } from './images.ts';
import type { TrySettings } from './request.ts';
import { useAttachments } from './use-attachments.ts';
import type { Chat } from './use-chat.ts';
import type { KeySource } from './use-page-key.ts';

interface ComposerProps {
  readonly chat: Chat;
  /** Null: none was given yet. */
  readonly keys: KeySource | null;
  readonly settings: TrySettings;
  readonly takesImages: boolean;
  readonly imagesOnPlan: boolean;
}

export function Composer({ chat, keys, settings, takesImages, imagesOnPlan }: ComposerProps) {
  const [text, setText] = useState('');
  const mayAdd = takesImages && imagesOnPlan;
  // Each request sends the whole conversation.
  const room = MAX_IMAGES - chat.messages.reduce((sent, message) => sent + message.images.length, 0);
  const attached = useAttachments(mayAdd, room);
  const { images } = attached;
  const busy = chat.state !== 'idle';
  const ready = !busy && keys !== null && settings.model !== '' && text.trim() !== '';
  const send = async () => {
    if (!ready || keys === null) return;
    setText('');
    attached.clear();
    const taken = await chat.send(text.trim(), takesImages ? images : [], keys, settings);
    if (taken) return;
    // What was written meanwhile stays, too.
    setText((written) => (written.trim() === '' ? text : `${text}\n\n${written}`));
    attached.putBack(images);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void send();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the button beside it does the same
    <div
      className="border-t border-border p-3"
      onPaste={(event) => attached.take(event, event.clipboardData)}
      onDragOver={(event) => mayAdd && event.preventDefault()}
      onDrop={(event) => attached.take(event, event.dataTransfer)}
    >
      {takesImages && images.length > 0 ? <Attachments images={images} onRemove={attached.remove} /> : null}
      <div className="flex items-end gap-2">
        {takesImages ? (
          <AddImages isDisabled={!imagesOnPlan || images.length >= room} onAdd={attached.add} />
        ) : null}
        <TextArea
          fullWidth
          rows={2}
          aria-label="Message"
          placeholder="Message"
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
        />
        <SendOrStop isBusy={busy} isReady={ready} onSend={() => void send()} onStop={chat.stop} />
      </div>
      {takesImages && !imagesOnPlan ? (
        <p className="mt-2 text-xs text-muted">Images need a plan that includes them.</p>
      ) : null}
      {mayAdd && room === 0 ? (
        <p className="mt-2 text-xs text-muted">
          This conversation has its {MAX_IMAGES} images. To send others, start a new one.
        </p>
      ) : null}
    </div>
  );
}

interface SendOrStopProps {
  readonly isBusy: boolean;
  readonly isReady: boolean;
  readonly onSend: () => void;
  readonly onStop: () => void;
}

const SendOrStop = ({ isBusy, isReady, onSend, onStop }: SendOrStopProps) =>
  isBusy ? (
    <Button isIconOnly className="shrink-0" variant="secondary" aria-label="Stop" onPress={onStop}>
      <span className="icon-square size-4" aria-hidden />
    </Button>
  ) : (
    <Button isIconOnly className="shrink-0" aria-label="Send" isDisabled={!isReady} onPress={onSend}>
      <span className="icon-send-horizontal size-4" aria-hidden />
    </Button>
  );
