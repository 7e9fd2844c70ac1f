import { LIMITS } from '@tidegate/limits';
import type { ImagePart } from './request.ts';

export const MAX_IMAGES = LIMITS.maxImages;

export interface ReadImages {
  readonly images: readonly Omit<ImagePart, 'id'>[];
  /** Names of the files that could not be read. */
  readonly unreadable: readonly string[];
}

/** Reads the chosen files. `read` returns a base64 data URL. */
export async function readImages<F extends { readonly name: string }>(
  files: readonly F[],
  read: (file: F) => Promise<string>,
): Promise<ReadImages> {
  const urls = await Promise.all(files.map((file) => read(file).catch(() => null)));
  const all = files.map(({ name }, i) => ({ name, url: urls[i] ?? null }));
  return {
    images: all.flatMap(({ name, url }) => (url === null ? [] : [{ name, url }])),
    unreadable: all.filter(({ url }) => url === null).map(({ name }) => name),
  };
}

/** Adds images, up to as many as there is room for. The same image may occur twice. */
export function withImages(
  kept: readonly ImagePart[],
  more: ReadImages['images'],
  room: number,
): readonly ImagePart[] {
  const firstId = Math.max(0, ...kept.map(({ id }) => id)) + 1;
  return [...kept, ...more.map((image, i) => ({ ...image, id: firstId + i }))].slice(0, room);
}
