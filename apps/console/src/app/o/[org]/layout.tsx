import type { ReactNode } from 'react';
import { requireOrg } from '#session/current.ts';
import { attentionOf } from '#shell/attention.ts';
import { Shell } from '#shell/shell.tsx';

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
