import { redirect } from 'next/navigation';
import { membershipsOf, requireUser } from '../session/current.ts';

/** Redirects to the first organization, or to the account page, which says that there is none. */
export default async function Home() {
  const [first] = await membershipsOf(await requireUser());
  redirect(first ? `/o/${first.slug}/keys` : '/account');
}
