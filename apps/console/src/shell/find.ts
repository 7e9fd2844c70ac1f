/** Something that users can go to by its name. */
export interface Findable {
  readonly group: 'Screens' | 'Keys' | 'Models' | 'Members';
  readonly id: string;
  readonly name: string;
  /** Tells two of the same name apart. */
  readonly hint?: string;
  readonly href: string;
}

const MOST_OF_A_GROUP = 8;

/**
 * Those whose name or hint contains every word of the text, ignoring case. At most 8 of each group.
 * Without a text: the screens.
 */
export function found(all: readonly Findable[], text: string): Findable[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const counts = new Map<string, number>();
  return all.filter(({ group, name, hint = '' }) => {
    if (words.length === 0) return group === 'Screens';
    const inIt = `${name} ${hint}`.toLowerCase();
    if (!words.every((word) => inIt.includes(word))) return false;
    const count = counts.get(group) ?? 0;
    counts.set(group, count + 1);
    return count < MOST_OF_A_GROUP;
  });
}
