import { type InlineImage, newRefusal, PASSED, type Passed, type Refusal } from '@tidegate/contracts';
import { imageTypeOf, TYPE_SAMPLE_BYTES } from './type.ts';

const SAMPLE_CHARACTERS = Math.ceil(TYPE_SAMPLE_BYTES / 3) * 4;

/** Checks that each inline image has the type that its data URL declares. */
export async function checkInlineImages(images: readonly InlineImage[]): Promise<Passed | Refusal> {
  for (const { path, declaredType, base64 } of images) {
    const type = await imageTypeOf(Buffer.from(base64.slice(0, SAMPLE_CHARACTERS), 'base64'));
    if (type === declaredType) continue;
    const problem =
      type === null
        ? `is declared as ${declaredType} but is not a PNG, JPEG, WebP or GIF image`
        : `is declared as ${declaredType} but is ${type}: the declared type must be the real one`;
    return newRefusal({ code: 'invalid_request', message: `${path} ${problem}.` });
  }
  return PASSED;
}
