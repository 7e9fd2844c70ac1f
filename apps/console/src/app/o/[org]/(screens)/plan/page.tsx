import { PLAN_LIMITS } from '@tidegate/control';
import type { Metadata } from 'next';
import { countKeys } from '#keys/fullness.ts';
import { PlanScreen } from '#plan/plan-screen.tsx';
import { services } from '#server/services.ts';
import { read, requireOrg } from '#session/current.ts';
import { Live } from '#ui/live.tsx';

export const metadata: Metadata = { title: 'Plan' };

export default async function Plan({ params }: { params: Promise<{ org: string }> }) {
  const { actor, org } = await requireOrg((await params).org);
  const { control, now } = services();
  const [plans, usage, keys] = await Promise.all([
    control.listPlans(actor, { org: org.slug }),
    control.showUsage(actor, { org: org.slug, days: 1, brief: true }),
    control.listKeys(actor, { org: org.slug }),
  ]);
  return (
    <>
      <Live />
      <PlanScreen
        org={{ slug: org.slug, name: org.name, plan: org.plan }}
        mayChange={org.role === 'owner'}
        limits={PLAN_LIMITS}
        plans={read(plans)}
        month={read(usage).month}
        nowMs={now()}
        keysInUse={countKeys(read(keys), now()).valid}
      />
    </>
  );
}
