'use client';

import { Button, TextArea, toast } from '@heroui/react';
import { type ChangeEvent, type KeyboardEvent, type SyntheticEvent, useRef, useState } from 'react';
import { MAX_IMAGES, readImages, withImages } from './images.ts';
import type { ImagePart, Settings } from './request.ts';
import type { Chat } from './use-chat.ts';
import type { KeySource } from './use-page-key.ts';

const TYPES = 'image/png,image/jpeg,image/webp,image/gif';

interface ComposerProps {
  readonly chat: Chat;
  /** Null: none was given yet. */
  readonly keys: KeySource | null;
  readonly settings: Settings;
  readonly takesImages: boolean;
  readonly imagesOnPlan: boolean;
}

export function Composer({ chat, keys, settings, takesImages, imagesOnPlan }: ComposerProps) {
  const [text, setText] = useState('');
  const [images, setImages] = useState<readonly ImagePart[]>([]);
  const busy = chat.state !== 'idle';
  const ready = !busy && keys !== null && settings.model !== '' && text.trim() !== '';
  const send = async () => {
    if (!ready || keys === null) return;
    setText('');
    setImages([]);
    const taken = await chat.send(text.trim(), takesImages ? images : [], keys, settings);
    if (taken) return;
    setText(text);
    setImages(images);
  };
  const mayAdd = takesImages && imagesOnPlan;
  const addFiles = async (files: readonly File[]) => {
    const { images: added, unreadable } = await readImages(files.slice(0, MAX_IMAGES), asDataUrl);
    setImages((kept) => withImages(kept, added));
    for (const name of unreadable) toast.danger(`“${name}” could not be read.`);
  };
  /** Takes pasted or dropped images. Leaves text to the browser. */
  const take = (event: SyntheticEvent, data: DataTransfer | null) => {
    const files = [...(data?.files ?? [])].filter(({ type }) => TYPES.split(',').includes(type));
    if (!mayAdd || files.length === 0) return;
    event.preventDefault();
    void addFiles(files);
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
      onPaste={(event) => take(event, event.clipboardData)}
      onDragOver={(event) => mayAdd && event.preventDefault()}
      onDrop={(event) => take(event, event.dataTransfer)}
    >
      {takesImages && images.length > 0 ? (
        <ul className="mb-2 flex flex-wrap gap-2" aria-label="Images to send">
          {images.map(({ id, name, url }) => (
            <li key={id} className="relative">
              {/* biome-ignore lint/performance/noImgElement: the user's own image as a data URL */}
              <img src={url} alt={name} className="size-16 rounded-lg object-cover" />
              <button
                type="button"
                aria-label={`Remove ${name}`}
                className="absolute -top-1.5 -right-1.5 grid size-5 place-items-center rounded-full bg-foreground text-background"
                onClick={() => setImages(images.filter((image) => image.id !== id))}
              >
                <span className="icon-x size-3" aria-hidden />
              </button>
            </li>
          ))}
        </ul>
      ) : null}
      <div className="flex items-end gap-2">
        {takesImages ? (
          <ImageButton
            isDisabled={!imagesOnPlan || images.length >= MAX_IMAGES}
            onAdd={(files) => void addFiles(files)}
          />
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
        {busy ? (
          <Button isIconOnly className="shrink-0" variant="secondary" aria-label="Stop" onPress={chat.stop}>
            <span className="icon-square size-4" aria-hidden />
          </Button>
        ) : (
          <Button
            isIconOnly
            className="shrink-0"
            aria-label="Send"
            isDisabled={!ready}
            onPress={() => void send()}
          >
            <span className="icon-send-horizontal size-4" aria-hidden />
          </Button>
        )}
      </div>
      {takesImages && !imagesOnPlan ? (
        <p className="mt-2 text-xs text-muted">Images need a plan that has them.</p>
      ) : null}
    </div>
  );
}

function ImageButton({
  isDisabled,
  onAdd,
}: {
  isDisabled: boolean;
  onAdd: (files: readonly File[]) => void;
}) {
  const input = useRef<HTMLInputElement>(null);
  const add = (event: ChangeEvent<HTMLInputElement>) => {
    const files = [...(event.target.files ?? [])];
    event.target.value = '';
    onAdd(files);
  };
  return (
    <>
      <input ref={input} type="file" accept={TYPES} multiple hidden aria-label="Images" onChange={add} />
      <Button
        isIconOnly
        variant="secondary"
        aria-label={`Add images, up to ${MAX_IMAGES}`}
        isDisabled={isDisabled}
        onPress={() => input.current?.click()}
      >
        <span className="icon-image-plus size-4" aria-hidden />
      </Button>
    </>
  );
}

const asDataUrl = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error ?? new Error('unreadable'));
    reader.readAsDataURL(file);
  });
