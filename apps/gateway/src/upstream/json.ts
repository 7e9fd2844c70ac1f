import { withoutByteOrderMark } from '../bytes/byte-order-mark.ts';

/**
 * Parses JSON, which some servers begin with a byte order mark.
 *
 * @throws SyntaxError
 */
export const parseJson = (text: string): unknown => JSON.parse(withoutByteOrderMark(text));
