/*
 * Apart from the other contracts, and without imports: the console's pages need it in the browser,
 * where the rest would bring Node's modules with it.
 */

/** What an image may be, by docs/conformance.md, "Image rules". */
export const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'] as const;
export type ImageType = (typeof IMAGE_TYPES)[number];
