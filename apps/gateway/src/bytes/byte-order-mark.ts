const BYTE_ORDER_MARK = '\uFEFF';

export const UTF8_BYTE_ORDER_MARK = Buffer.from(BYTE_ORDER_MARK);

export const withoutByteOrderMark = (text: string): string =>
  text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
