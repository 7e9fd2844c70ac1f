const BYTE_ORDER_MARK = '\uFEFF';

/**
 * Parses JSON, which some servers begin with a byte order mark.
 *
 * @throws SyntaxError
 */
export const parseJson = (text: string): unknown =>
  JSON.parse(text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text);
