/** A name's first character. Half of a surrogate pair would be no character. */
export const initialOf = (name: string): string => [...name][0] ?? '';
