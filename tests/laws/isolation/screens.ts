import { SCREENS } from '../../support/screens.ts';

/** An organization's pages in the console. */
export const ORG_PAGES = [...SCREENS, 'usage/csv', 'audit/export'];

export interface Visitor {
  readonly site: string;
  readonly cookie: string;
}

export interface Page {
  readonly status: number;
  readonly text: string;
}

export async function visit({ site, cookie }: Visitor, path: string, init: RequestInit = {}): Promise<Page> {
  const answer = await fetch(`${site}${path}`, {
    ...init,
    headers: { cookie, origin: site },
    redirect: 'manual',
  });
  return { status: answer.status, text: await answer.text() };
}
