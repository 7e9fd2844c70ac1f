'use client';

import { Button } from '@heroui/react';
import { IMAGE_TYPES } from '@tidegate/contracts/image-types';
import { type ChangeEvent, useRef } from 'react';
import { MAX_IMAGES } from './images.ts';
import type { ImagePart } from './request.ts';

interface AttachmentsProps {
  readonly images: readonly ImagePart[];
  readonly onRemove: (id: number) => void;
}

/** The images of a message that is being written. */
export function Attachments({ images, onRemove }: AttachmentsProps) {
  return (
    <ul className="mb-2 flex flex-wrap gap-2" aria-label="Images to send">
      {images.map(({ id, name, url }) => (
        <li key={id} className="relative">
          {/* biome-ignore lint/performance/noImgElement: the user's own image as a data URL */}
          <img src={url} alt={name} className="size-16 rounded-lg object-cover" />
          <button
            type="button"
            aria-label={`Remove ${name}`}
            className="absolute -top-1.5 -right-1.5 grid size-5 place-items-center rounded-full bg-foreground text-background"
            onClick={() => onRemove(id)}
          >
            <span className="icon-x size-3" aria-hidden />
          </button>
        </li>
      ))}
    </ul>
  );
}

interface AddImagesProps {
  readonly isDisabled: boolean;
  readonly onAdd: (files: readonly File[]) => void;
}

export function AddImages({ isDisabled, onAdd }: AddImagesProps) {
  const input = useRef<HTMLInputElement>(null);
  const add = (event: ChangeEvent<HTMLInputElement>) => {
    const files = [...(event.target.files ?? [])];
    event.target.value = '';
    onAdd(files);
  };
  return (
    <>
      <input
        ref={input}
        type="file"
        accept={IMAGE_TYPES.join(',')}
        multiple
        hidden
        aria-label="Images"
        onChange={add}
      />
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
