/*
 * The stand-in's tokenizer. A token is up to 8 letters or digits, with at most one space before
 * them, or any other single character. The tokens of a text add up to the text.
 */
const TOKEN = / ?[\p{L}\p{N}]{1,8}|./gsu;

/** The tokens that a message takes besides its text, and those that start an answer. */
export const MESSAGE_TOKENS = 4;
export const ANSWER_START_TOKENS = 3;

const IMAGE_TILE_PX = 28;
const IMAGE_MAX_TOKENS = 1_280;

export const tokenize = (text: string): string[] => text.match(TOKEN) ?? [];

export const countTokens = (text: string): number => tokenize(text).length;

/** One token for each full or partial tile of 28 x 28 pixels, plus 2; at most 1,280. */
export const imageTokens = (widthPx: number, heightPx: number): number =>
  Math.min(IMAGE_MAX_TOKENS, Math.ceil(widthPx / IMAGE_TILE_PX) * Math.ceil(heightPx / IMAGE_TILE_PX) + 2);
