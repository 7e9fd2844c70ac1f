/*
 * Kept apart from the other contracts, and without imports: the console's pages need it in the
 * browser, and the rest would bring in Node's modules.
 */

/** The types that an image may have, according to docs/conformance.md, "Image rules". */
export const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'] as const;
export type ImageType = (typeof IMAGE_TYPES)[number];
