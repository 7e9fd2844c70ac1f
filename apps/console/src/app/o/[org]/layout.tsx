import type { Metadata } from 'next';
import type { ReactNode } from 'react';
import { currentUser, membershipsOf, requireOrg } from '#session/current.ts';
import { attentionOf } from '#shell/attention.ts';
import { Shell } from '#shell/shell.tsx';

const NOT_FOUND = 'Not found · Tidegate';

/**
 * Where the organization does not exist, or the user does not belong to it, the title says so
 * instead of naming the screen.
 */
export async function generateMetadata({ params }: { params: Promise<{ org: string }> }): Promise<Metadata> {
  const { org } = await params;
  // While the database is unavailable, the page that says so keeps the screen's title.
  const isThere = await mayOpen(org).catch(() => true);
  return isThere ? {} : { title: { default: NOT_FOUND, template: NOT_FOUND } };
}

async function mayOpen(org: string): Promise<boolean> {
  const user = await currentUser();
  return user !== null && (await membershipsOf(user)).some(({ slug }) => slug === org);
}

export default async function OrgLayout({
  children,
  params,
}: {
  children: ReactNode;
  params: Promise<{ org: string }>;
}) {
  const { org, memberships, actor, name } = await requireOrg((await params).org);
  const attention = await attentionOf(actor, org.slug);
  return (
    <Shell
      org={{ slug: org.slug, name: org.name, role: org.role }}
      attention={attention}
      orgs={memberships.map((each) => ({
        slug: each.slug,
        name: each.name,
        plan: each.plan,
        role: each.role,
      }))}
      user={{ name, email: actor.email }}
    >
      {children}
    </Shell>
  );
}
