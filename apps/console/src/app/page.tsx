import { cookies } from 'next/headers';
import { redirect } from 'next/navigation';
import { services } from '../server/services.ts';
import { membershipsOf, read, requireUser } from '../session/current.ts';
import { LAST_PLACE_COOKIE, lastPath } from '../shell/last-place.ts';

/**
 * Redirects to where the user was last in this browser, else to the first organization, or to the
 * account page, which says that there is none. An owner of an empty organization is taken to the
 * guide.
 */
export default async function Home() {
  const user = await requireUser();
  const memberships = await membershipsOf(user);
  const last = lastPath((await cookies()).get(LAST_PLACE_COOKIE)?.value, memberships);
  if (last) redirect(last);
  const [first] = memberships;
  if (!first) redirect('/account');
  const { control } = services();
  const at = { org: first.slug };
  if (first.role === 'owner' && !first.lacksTwoFactor) {
    const [models, keys] = await Promise.all([
      control.listModels(user.actor, { ...at, activity: false }),
      control.listKeys(user.actor, at),
    ]);
    if (read(models).length === 0 && read(keys).length === 0) redirect(`/o/${first.slug}/start`);
  }
  redirect(`/o/${first.slug}/keys`);
}
