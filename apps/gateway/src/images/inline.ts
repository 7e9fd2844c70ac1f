import { type InlineImage, newRefusal, PASSED, type Passed, type Refusal } from '@tidegate/contracts';
import { imageTypeOf } from './type.ts';

/** Checks that each inline image has the type that its data URL declares. */
export function checkInlineImages(images: readonly InlineImage[]): Passed | Refusal {
  for (const { path, declaredType, begin } of images) {
    const type = imageTypeOf(Buffer.from(begin, 'base64'));
    if (type === declaredType) continue;
    const problem =
      type === null
        ? `is declared as ${declaredType} but is not a PNG, JPEG, WebP or GIF image`
        : `is declared as ${declaredType} but is ${type}: the declared type must be the real one`;
    return newRefusal({ code: 'invalid_request', message: `${path} ${problem}.` });
  }
  return PASSED;
}
