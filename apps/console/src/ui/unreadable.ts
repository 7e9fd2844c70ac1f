import type { Fault } from '@tidegate/control';

interface Typed {
  readonly name?: string;
  readonly type?: string;
  readonly validity?: { readonly badInput: boolean };
}

/** The faults of fields whose typed text the browser cannot read. Their value is empty. */
export const unreadable = (elements: Iterable<object>): Fault[] =>
  [...elements].flatMap((element) => {
    const { name = '', type, validity } = element as Typed;
    if (!validity?.badInput) return [];
    const message = type === 'number' ? 'Enter a number.' : 'Enter a complete date, or leave it empty.';
    return [{ field: name, message }];
  });
