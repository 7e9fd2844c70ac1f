'use client';

import { toast } from '@heroui/react';
import { IMAGE_TYPES } from '@tidegate/contracts/image-types';
import { type SyntheticEvent, useState } from 'react';
import { MAX_IMAGES, readImages, withImages } from './images.ts';
import type { ImagePart } from './request.ts';

interface AttachedImages {
  readonly images: readonly ImagePart[];
  readonly clear: () => void;
  /** Puts images back before those that were added meanwhile. */
  readonly putBack: (images: readonly ImagePart[]) => void;
  readonly add: (files: readonly File[]) => void;
  readonly remove: (id: number) => void;
  /** Takes pasted or dropped images. Leaves text to the browser. */
  readonly take: (event: SyntheticEvent, data: DataTransfer | null) => void;
}

/**
 * The images of a message that is being written.
 *
 * @param mayAdd whether pasted and dropped ones are taken
 * @param room how many the message may have
 */
export function useAttachments(mayAdd: boolean, room: number): AttachedImages {
  const [images, set] = useState<readonly ImagePart[]>([]);
  const add = async (files: readonly File[]) => {
    const { images: added, unreadable } = await readImages(files.slice(0, room), asDataUrl);
    set((kept) => withImages(kept, added, room));
    if (images.length + files.length > room) toast.warning(TOO_MANY);
    for (const name of unreadable) toast.danger(`“${name}” could not be read.`);
  };
  const take: AttachedImages['take'] = (event, data) => {
    const files = [...(data?.files ?? [])].filter(({ type }) => IMAGE_TYPES.some((known) => known === type));
    if (!mayAdd || files.length === 0) return;
    event.preventDefault();
    void add(files);
  };
  return {
    images,
    clear: () => set([]),
    putBack: (earlier) => set((added) => withImages(earlier, added, room)),
    add: (files) => void add(files),
    remove: (id) => set(images.filter((image) => image.id !== id)),
    take,
  };
}

const TOO_MANY = `A conversation has at most ${MAX_IMAGES} images. The others were left out.`;

const asDataUrl = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error ?? new Error('unreadable'));
    reader.readAsDataURL(file);
  });
