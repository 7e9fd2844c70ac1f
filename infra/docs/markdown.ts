/* What the checks of the docs read from a page in Markdown. */

export interface Block {
  readonly language: string;
  readonly text: string;
}

const FENCE = /^( *)```(\w*)\n([\s\S]*?)^\1```$/gm;
const COMMENT = /<!--[\s\S]*?-->/g;

/** The blocks of code. */
export const blocksOf = (page: string): Block[] =>
  [...page.matchAll(FENCE)].map(([, , language = '', text = '']) => ({ language, text }));

const proseOf = (page: string): string => page.replace(FENCE, '').replace(COMMENT, '');

/** The spans of code in the prose. */
export const spansOf = (page: string): string[] =>
  [...proseOf(page).matchAll(/`([^`]+)`/g)].map(([, text = '']) =>
    text.replaceAll('\\|', '|').replace(/\s+/g, ' '),
  );

/** Where links and pictures lead. */
export const targetsOf = (page: string): string[] =>
  [
    ...proseOf(page)
      .replace(/`[^`]*`/g, '')
      .matchAll(/\]\(([^()\s]*(?:\([^()\s]*\))?[^()\s]*)\)/g),
  ].map(([, target = '']) => target);

/** Lines of text longer than `columns` that could be broken: neither in a table nor in a link. */
export const wideLinesOf = (page: string, columns: number): string[] =>
  proseOf(page)
    .split('\n')
    .filter((line) => line.length > columns && !/^\s*[|#<!]/.test(line))
    .filter((line) => {
      const solid = line.replace(/!?\[[^\]]*\]\([^)]*\)|`[^`]*`/g, (text) => 'x'.repeat(text.length));
      return /\S\s/.test(solid.replace(/^\s*([-*]|\d+\.)\s+/, ''));
    });

/** The anchors of a page's headings, as GitHub makes them. */
export function anchorsOf(page: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ''] of proseOf(page).matchAll(/^#{1,6} (.+)$/gm)) {
    const plain = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const anchor = plain
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(' ', '-');
    let name = anchor;
    for (let i = 1; anchors.has(name); i++) name = `${anchor}-${i}`;
    anchors.add(name);
  }
  return anchors;
}

/** The commands of a page: its blocks' lines, with what a backslash continues, and its spans. */
export const commandsOf = (page: string): string[] => [
  ...blocksOf(page).flatMap(({ text }) => text.replace(/\\\n\s*/g, ' ').split('\n')),
  ...spansOf(page),
];
