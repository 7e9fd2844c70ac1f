import type { Actor } from '@tidegate/control';
import { services } from '../server/services.ts';
import { noticesOf } from '../usage/forecast.ts';

/** What is wrong now, in a sentence, by the path of the screen that says more. */
export type Attention = Readonly<Partial<Record<string, string>>>;

/** Requests of this hour and the one before are looked at. */
const HOURS = 2;
/** Fewer errors, or a smaller share of them, are no reason to look. */
const FAILING_FROM = 5;
const FAILING_SHARE = 0.1;

/** Looks at models, requests and quotas, so that every screen can point to what is wrong. */
export async function attentionOf(actor: Actor, org: string): Promise<Attention> {
  const { control, now } = services();
  const [models, usage] = await Promise.all([
    control.listModels(actor, { org, activity: false }),
    control.showUsage(actor, { org, hours: HOURS, brief: true }),
  ]);
  const failed = models.ok ? models.value.filter(({ condition }) => condition === 'failed').length : 0;
  const found = {
    api: failed === 0 ? null : failed === 1 ? 'A model has failed.' : `${failed} models have failed.`,
    requests: usage.ok ? failing(usage.value.totals) : null,
    usage: (usage.ok && noticesOf(usage.value.month, now())[0]?.text) || null,
  };
  return Object.fromEntries(
    Object.entries(found).flatMap(([path, text]) => (text === null ? [] : [[path, text]])),
  );
}

/** Says so if many requests fail. */
export function failing({ requests, errors }: { requests: number; errors: number }): string | null {
  if (errors < FAILING_FROM || errors < requests * FAILING_SHARE) return null;
  return `${Math.round((errors / requests) * 100)}% of the requests of this hour and the last have failed.`;
}
