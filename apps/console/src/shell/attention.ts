import type { Actor, AttentionView } from '@tidegate/control';
import { services } from '../server/services.ts';
import { bannersOf } from '../usage/forecast.ts';

/** What is wrong now, in a sentence, by the path of the screen that says more. */
export type Attention = Readonly<Partial<Record<string, string>>>;

/** Fewer errors, or a smaller share of them, are no reason to look. */
const FAILING_FROM = 5;
const FAILING_SHARE = 0.1;

/** Looks at models, requests and quotas, so that every screen can point to what is wrong. */
export async function attentionOf(actor: Actor, org: string): Promise<Attention> {
  const { control, now } = services();
  const shown = await control.showAttention(actor, { org });
  return shown.ok ? attentionIn(shown.value, now()) : {};
}

export function attentionIn(view: AttentionView, nowMs: number): Attention {
  const found = {
    api: failed(view.failedModels),
    requests: failing(view),
    usage: bannersOf(view.month, nowMs)[0]?.text ?? null,
  };
  return Object.fromEntries(
    Object.entries(found).flatMap(([path, text]) => (text === null ? [] : [[path, text]])),
  );
}

function failed(models: number): string | null {
  if (models === 0) return null;
  return models === 1 ? 'A model has failed.' : `${models} models have failed.`;
}

/** Says so if many requests fail. */
function failing({ requests, errors }: { requests: number; errors: number }): string | null {
  if (errors < FAILING_FROM || errors < requests * FAILING_SHARE) return null;
  return `${Math.round((errors / requests) * 100)}% of the requests in this hour and the last have failed.`;
}
