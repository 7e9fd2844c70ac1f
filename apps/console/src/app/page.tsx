import { redirect } from 'next/navigation';
import { services } from '../server/services.ts';
import { membershipsOf, read, requireUser } from '../session/current.ts';

/**
 * Redirects to the first organization, or to the account page, which says that there is none. An
 * owner of an empty organization is led to the guide.
 */
export default async function Home() {
  const user = await requireUser();
  const [first] = await membershipsOf(user);
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
