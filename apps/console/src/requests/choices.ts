export interface Named {
  readonly id: string;
  readonly name: string;
}

export interface Choices {
  readonly options: readonly Named[];
  /** Where the options that are not sent with the page come from. Absent: there are none. */
  readonly more?: 'keys' | 'models';
}

/** A page with more options would be slow to send and to show. */
const MAX_SENT = 50;

/** What is sent with a page: all options if they are few, or else what is chosen. */
export function sentWith(all: readonly Named[], chosen: string, more: 'keys' | 'models'): Choices {
  if (all.length <= MAX_SENT) return { options: all };
  return { options: all.filter(({ id }) => id === chosen), more };
}
