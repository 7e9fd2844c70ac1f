import { disableTypes, imageSize, types } from 'image-size';

/** An image's real type and size, read from its bytes. */
export interface SeenImage {
  readonly type: 'PNG' | 'JPEG' | 'WebP' | 'GIF';
  readonly widthPx: number;
  readonly heightPx: number;
}

const TYPES: Readonly<Record<string, SeenImage['type']>> = {
  png: 'PNG',
  jpg: 'JPEG',
  webp: 'WebP',
  gif: 'GIF',
};
const DATA_URL = /^data:[^,]{0,100};base64,/;

disableTypes(types.filter((type) => !(type in TYPES)));

/** Null: not a base64 data URL of a PNG, JPEG, WebP or GIF. The stand-in fetches nothing. */
export function seeImage(url: string): SeenImage | null {
  const head = DATA_URL.exec(url)?.[0];
  if (head === undefined) return null;
  try {
    const { type, width, height } = imageSize(Buffer.from(url.slice(head.length), 'base64'));
    const known = TYPES[type ?? ''];
    return known ? { type: known, widthPx: width, heightPx: height } : null;
  } catch {
    return null;
  }
}
