import type { AuditPage, AuditView, Result } from '@tidegate/control';
import { lineOf } from '../usage/csv.ts';

/** An export ends after this many pages of 200 events, and says so. */
const MAX_PAGES = 500;
export const EVENTS_A_PAGE = 200;

const HEADER = ['at', 'actor', 'action', 'target', 'details', 'id'];

/** How one event is written, and what comes before the first. */
export interface Format {
  readonly head: string;
  readonly line: (event: AuditView) => string;
  /** A last line that is not an event: it says why the export is incomplete. */
  readonly incomplete: (why: string) => string;
  readonly type: string;
}

export const FORMATS: Readonly<Record<string, Format>> = {
  csv: {
    head: lineOf(HEADER),
    line: ({ at, actor, action, target, details, id }) => lineOf([at, actor, action, target, details, id]),
    incomplete: (why) => lineOf(['', '', 'incomplete', '', why, '']),
    type: 'text/csv; charset=utf-8',
  },
  jsonl: {
    head: '',
    line: (event) => `${JSON.stringify(event)}\n`,
    incomplete: (why) => `${JSON.stringify({ incomplete: why })}\n`,
    type: 'application/jsonl; charset=utf-8',
  },
};

/**
 * The events as text, newest first, a page at a time. Reads a page only once the one before has
 * been taken.
 *
 * @param first the first page, already read
 */
export async function* exported(
  { head, line, incomplete }: Format,
  first: AuditPage,
  read: (before: string) => Promise<Result<AuditPage>>,
): AsyncGenerator<string> {
  yield head;
  let page = first;
  for (let pages = 1; ; pages++) {
    yield page.events.map(line).join('');
    if (page.next === null) return;
    if (pages === MAX_PAGES) {
      const day = page.events.at(-1)?.at.slice(0, 10);
      yield incomplete(
        `Older events are left out. Export the days up to ${day}, or add before=${page.next} to the address.`,
      );
      return;
    }
    const next = await read(page.next);
    if (!next.ok) throw new Error(next.refusal.message);
    page = next.value;
  }
}
